// A passage's text, cut at its words. Places are counted in characters, not in JavaScript's halves of them.
function inParts(passage, make) {
  const letters = Array.from(passage.text);
  const parts = [];
  let at = 0;
  passage.spans.forEach((span, index) => {
    parts.push(letters.slice(at, span[0]).join(''), make(span, letters.slice(span[0], span[1]).join(''), index));
    [, at] = span;
  });
  parts.push(letters.slice(at).join(''));
  return parts;
}

const LEAST = '< 0.06';
const times = (value) => (value ? show(value) : LEAST);
const passageLine = (parts) => el('p', { class: 'passage', dir: 'auto', lang: chosenSubject().language }, ...parts);
const source = (passage) => {
  const { corpus, license } = chosenSubject();
  return el('p', { class: 'note' }, `Document ${passage.document} of ${corpus}; licence of the text: ${license}.`);
};

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const CODES = new Map(Array.from(LETTERS, (letter, index) => [letter, index]));
// Attention relative to the passage's average, right to 9 %.
function attentionOf(passage, heads, layer, head, query, key) {
  const size = passage.spans.length;
  const code = CODES.get(passage.attention[((layer * heads + head) * size + query) * size + key]);
  return code ? 2 ** (-4 + (code - 1) / 4) : 0;
}

const reading = { passage: 0, query: null, which: 'all' };

// What a query's attention is drawn to: different words that carry topics, all of them or of one kind.
function keysOf(passage, known, query) {
  const { examples } = chosenSubject();
  const of = passage.spans.map((span) => known.get(examples.words[span[2]]) || { topic: null, surface: null });
  return of.map((one, key) => {
    if (key === query || one.topic === null || of[query].topic === null || one.surface === of[query].surface) return null;
    const kind = one.topic === of[query].topic ? 'same' : 'different';
    return reading.which === 'all' || reading.which === kind ? kind : null;
  });
}

function showPassage(box, layer, head) {
  const { examples } = chosenSubject();
  const passage = examples.passages[reading.passage];
  const known = labels();
  const carries = (span) => (known.get(examples.words[span[2]]) || { topic: null }).topic;
  if (reading.query === null || reading.query >= passage.spans.length || carries(passage.spans[reading.query]) === null) {
    const topics = passage.spans.map(carries);
    const shared = topics.findIndex((one, index) => one !== null && topics.indexOf(one, index + 1) >= 0);
    reading.query = shared >= 0 ? shared : Math.max(0, topics.findIndex((one) => one !== null));
  }
  const kinds = keysOf(passage, known, reading.query);
  const values = kinds.map((kind, key) => (kind ? attentionOf(passage, examples.heads, layer, head, reading.query, key) : 0));
  const most = Math.max(...values, 1);
  const buttons = [];
  const make = (span, text, index) => {
    if (carries(span) === null) return text;
    const kind = kinds[index];
    const shade = `color-mix(in oklab, var(--warm) ${Math.round((55 * values[index]) / most)}%, transparent)`;
    const says = kind ? `${times(values[index])} times the average, ${kind} topic` : index === reading.query ? 'the chosen word' : 'not drawn';
    const button = el('button', {
      type: 'button',
      class: `${kind === 'same' ? 'same' : ''}${index === reading.query ? ' query' : ''}`,
      'aria-pressed': index === reading.query ? 'true' : 'false',
      title: says,
      style: kind ? { background: shade } : {},
      onclick: () => {
        reading.query = index;
        showPassage(box, layer, head);
        box.querySelector('.query').focus();
      },
    }, text);
    buttons.push(button);
    return button;
  };
  const line = passageLine(inParts(passage, make));
  const order = kinds.map((_, key) => key).filter((key) => kinds[key]).sort((one, other) => values[other] - values[one]);
  const best = order.slice(0, 5).map((key) => {
    const text = Array.from(passage.text).slice(...passage.spans[key].slice(0, 2)).join('');
    return el('li', {}, word(text), ` ${times(values[key])} (${kinds[key]} topic)`);
  });
  const says = `Attention from the chosen word, times the passage's average. Solid underline: same topic.${examples.causal ? ' A word sees only what stands before it.' : ''}`;
  box.replaceChildren(line, el('p', { class: 'note' }, says), best.length ? el('ol', {}, ...best) : el('p', {}, 'Nothing to draw.'), source(passage));
  roving(buttons, 1, buttons.findIndex((one) => one.classList.contains('query')));
}
