// The topics: on a map, in a list, and one of them with its words and passages.
const LISTED = 5;
let topic = null;

const wordsOf = (number) => chosenSubject().topics.words[number] || [];
const tokenOf = (entry) => entry[3] || entry[0];
const isKept = (number) => (entry) => entry[2][chosenTheta()] === number;
const named = (number) => wordsOf(number).filter(isKept(number)).slice(0, LISTED).map((entry) => entry[0]);

// By token: the topic that has it at the chosen theta, and how it is written.
function labels() {
  const found = new Map();
  chosenSubject().topics.words.forEach((words, number) => {
    for (const entry of words) {
      const known = found.get(tokenOf(entry));
      const owner = isKept(number)(entry) ? number : known ? known.topic : null;
      found.set(tokenOf(entry), { topic: owner, surface: entry[0] });
    }
  });
  return found;
}

function listed(names) {
  return names.flatMap((name, index) => (index ? [', ', word(name)] : [word(name)]));
}

function showTopics() {
  const { topics } = chosenSubject();
  const query = document.getElementById('topic-search').value.trim().toLocaleLowerCase();
  const all = topics.words.map((_, number) => number).filter((number) => wordsOf(number).some(isKept(number)));
  const hits = new Map(
    all.map((number) => [number, query ? wordsOf(number).filter((entry) => isKept(number)(entry) && entry[0].includes(query)) : []]),
  );
  const shown = query ? all.filter((number) => hits.get(number).length) : all;
  document.getElementById('topic-found').textContent = query
    ? `${shown.length} of ${all.length} topics keep a word with “${query.slice(0, 60)}”.`
    : `${all.length} topics.`;
  if (!all.includes(topic)) topic = null;
  if (topic === null && all.length) topic = startingTopic(all);
  const list = document.getElementById('topic-list');
  list.replaceChildren(
    ...shown.map((number) => {
      const names = query ? hits.get(number).slice(0, LISTED).map((entry) => entry[0]) : named(number);
      const share = topics.map ? ` (${percent(topics.map[number][0])})` : '';
      const button = el(
        'button',
        { type: 'button', 'aria-current': number === topic ? 'true' : null, onclick: () => openTopic(number) },
        `${number}: `, ...listed(names), share,
      );
      return el('li', {}, button);
    }),
  );
  const current = list.querySelector('[aria-current]');
  if (current) list.scrollTop = current.offsetTop - list.offsetTop - 40;
  showMap(all, query ? shown : []);
  showTopic();
}

// The topic with most of the effect on similarity, or else the first.
function startingTopic(all) {
  const effects = chosenSubject().topics.effects;
  const cosine = effects && effects[chosenTheta()] && effects[chosenTheta()].cosine;
  if (!cosine) return all[0];
  return all.reduce((best, number) => ((cosine[number][1] ?? -1) > (cosine[best][1] ?? -1) ? number : best));
}

function openTopic(number) {
  topic = number;
  showTopics();
  document.getElementById('topic-detail').focus({ preventScroll: true });
}

function showMap(all, found) {
  const { map } = chosenSubject().topics;
  const box = document.getElementById('topic-map');
  document.getElementById('topic-map-figure').hidden = !map;
  document.querySelector('.topics').classList.toggle('no-map', !map);
  if (!map) return;
  const size = [560, 400];
  const radius = (number) => 2 + 70 * Math.sqrt(map[number][0]);
  const edge = 8 + Math.max(...all.map(radius));
  const reach = [1, 2].map((axis) => {
    const places = all.map((number) => map[number][axis]);
    return [Math.min(...places), Math.max(...places)];
  });
  const place = (number, axis) => {
    const [low, high] = reach[axis];
    return edge + ((map[number][axis + 1] - low) / (high - low || 1)) * (size[axis] - 2 * edge);
  };
  const order = [...all].sort((one, other) => map[one][1] - map[other][1]);
  const bySize = [...order].sort((one, other) => map[other][0] - map[one][0]);
  const circles = new Map(
    order.map((number) => {
      const name = `Topic ${number}: ${named(number).join(', ')}; ${percent(map[number][0])} of the text`;
      const open = () => openTopic(number);
      const press = (event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        open();
      };
      const marks = `topic${number === topic ? ' chosen' : ''}${found.includes(number) ? ' found' : ''}`;
      const attributes = { class: marks, cx: place(number, 0), cy: place(number, 1), r: radius(number) };
      const use = { role: 'button', 'aria-label': name, onclick: open, onkeydown: press };
      return [number, drawn('circle', { ...attributes, ...use }, drawn('title', {}, name))];
    }),
  );
  const picture = { viewBox: `0 0 ${size[0]} ${size[1]}`, role: 'group', 'aria-label': 'Map of the topics' };
  // Small ones lie on top of large ones.
  box.replaceChildren(drawn('svg', picture, ...bySize.map((number) => circles.get(number))));
  roving(order.map((number) => circles.get(number)), 1, order.indexOf(topic));
}

function whyNot(entry) {
  const owner = entry[2][chosenTheta()];
  const { k } = chosenSubject().topics;
  if (owner < 0) return `not among the ${k[chosenTheta()]} likeliest at this theta`;
  return owner === topic ? 'kept' : `dropped: ambiguous, kept by topic ${owner}, where it is likelier`;
}

function showTopic() {
  const box = document.getElementById('topic-detail');
  if (topic === null) return box.replaceChildren(el('p', {}, 'No topic keeps a word at this theta.'));
  const { topics } = chosenSubject();
  const most = Math.max(...wordsOf(topic).map((entry) => entry[1] || 0));
  const rows = wordsOf(topic).map((entry) =>
    el('tr', {},
      el('th', { scope: 'row' }, word(entry[0])),
      el('td', {}, el('span', { class: 'bar', style: { width: `${(5 * (entry[1] || 0)) / most}rem` } }), ` ${show(entry[1])}`),
      el('td', { class: isKept(topic)(entry) ? '' : 'why' }, whyNot(entry))),
  );
  const table = el('table', { class: 'words' },
    el('thead', {}, el('tr', {}, ...['word', 'likelihood', 'kept?'].map((name) => el('th', { scope: 'col' }, name)))),
    el('tbody', {}, ...rows));
  const share = topics.map ? el('p', {}, `${percent(topics.map[topic][0])} of the text.`) : null;
  const words = el('details', { open: true }, el('summary', {}, `${rows.length} words`), el('div', { class: 'scroll high', role: 'region', 'aria-label': 'Words of the topic' }, table));
  box.replaceChildren(el('h3', {}, `Topic ${topic}: `, ...listed(named(topic))), share ?? '', effectsOf(topic), ...passagesOf(topic), words);
  reachScrolled();
}

function effectsOf(number) {
  const effects = chosenSubject().topics.effects;
  if (!effects || !effects[chosenTheta()]) return '';
  const lines = Object.entries(effects[chosenTheta()]).sort().reverse().map(([measure, of]) => {
    const [ratio, share, pairs] = of[number];
    return el('li', {}, `${measure}: ratio ${show(ratio)}, ${percent(share)} of the effect (${pairs} pairs)`);
  });
  return el('ul', { class: 'effects' }, ...lines);
}

function passagesOf(number) {
  const { examples } = chosenSubject();
  if (!examples) return [];
  const known = labels();
  const has = (passage) => passage.spans.filter((span) => (known.get(examples.words[span[2]]) || {}).topic === number).length;
  const own = examples.snippets.filter((one) => one.topic === number && has(one));
  const others = examples.passages.filter((one) => has(one) > 1).sort((one, other) => has(other) - has(one));
  return [...own, ...others.slice(0, 2)].map((passage) => {
    const isHere = (span) => (known.get(examples.words[span[2]]) || {}).topic === number;
    const parts = inParts(passage, (span, text) => (isHere(span) ? el('mark', {}, text) : text));
    return el('blockquote', {}, passageLine(parts), source(passage));
  });
}
