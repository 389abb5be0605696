// Layer by head: colours, numbers, the pairs of a head, and a passage with its attention.
const METRICS = {
  ratio: 'ratio', distance: 'distance-matched ratio', popularity: 'popularity-adjusted ratio', q: 'q-value', p: 'p-value',
};
const metricSelect = document.getElementById('head-metric');
const weightsSelect = document.getElementById('head-weights');
let opened = null;

function options(select, names) {
  const before = select.value;
  select.replaceChildren(...names.map(([value, name]) => el('option', { value }, name)));
  if (names.some(([value]) => value === before)) select.value = before;
}

function numbersOfHeads() {
  const { heads } = chosenSubject();
  return ((heads.weights[weightsSelect.value] || [])[chosenTheta()]) || {};
}

function showHeads() {
  const { heads } = chosenSubject();
  options(weightsSelect, Object.keys(heads.weights).map((name) => [name, name]));
  const numbers = numbersOfHeads();
  options(metricSelect, Object.entries(METRICS).filter(([name]) => numbers[name]));
  const metric = metricSelect.value;
  const values = numbers[metric] || [];
  document.getElementById('heads').hidden = !values.length;
  if (!values.length) return;
  const colour = colours(values, metric);
  const best = (numbers.ratio || values).reduce((top, value, at, all) => ((value ?? 0) > (all[top] ?? 0) ? at : top), 0);
  if (opened === null || opened >= values.length) opened = best;
  const cells = values.map((value, at) => {
    const says = headSays(numbers, at);
    const cell = el('button', {
      type: 'button', role: 'gridcell', 'aria-label': says, 'aria-selected': at === opened ? 'true' : 'false',
      class: metric === 'q' || metric === 'p' ? (value !== null && value <= 0.05 ? 'clear' : '') : '',
      style: { 'background-color': colour(value) },
      onclick: () => openHead(at),
    });
    for (const name of ['pointerenter', 'focus']) cell.addEventListener(name, () => readOut(says));
    return cell;
  });
  const columns = heads.heads;
  const row = (head, ...inside) => el('div', { role: 'row', style: { '--heads': columns } }, head, ...inside);
  const corner = el('span', { role: 'columnheader', 'aria-label': 'layer' });
  const names = [...Array(columns).keys()].map((head) => el('span', { role: 'columnheader' }, String(head)));
  const rows = [...Array(heads.layers).keys()].map((layer) =>
    row(el('span', { role: 'rowheader' }, String(layer)), ...cells.slice(layer * columns, (layer + 1) * columns)));
  const says = `${METRICS[metric]} by layer and head`;
  document.getElementById('head-grid').replaceChildren(el('div', { role: 'grid', 'aria-label': says }, row(corner, ...names), ...rows));
  roving(cells, columns, opened);
  showRamp(values, metric, colour);
  readOut(headSays(numbers, opened));
  showHead();
}

function headSays(numbers, at) {
  const { heads } = chosenSubject();
  const parts = Object.entries(METRICS).filter(([name]) => numbers[name]).map(([name, title]) => `${title} ${show(numbers[name][at])}`);
  const means = numbers.same ? `, means ${show(numbers.same[at])} and ${show(numbers.different[at])}` : '';
  const role = numbers.role && numbers.role[at] ? `; ${numbers.role[at]}` : '';
  return `Layer ${Math.floor(at / heads.heads)}, head ${at % heads.heads}: ${parts.join(', ')}${means}${role}`;
}

const readOut = (says) => { document.getElementById('head-readout').textContent = says; };

// How far from 1 the colours go: as far as 99 in 100 heads.
function reachOf(values) {
  const far = values.filter((value) => value > 0).map((value) => Math.abs(Math.log(value))).sort((one, other) => one - other);
  return Math.max(Math.log(1.02), far.length ? far[Math.min(far.length - 1, Math.floor(0.99 * far.length))] : 0);
}

function colours(values, metric) {
  const mixed = (share, end) => `color-mix(in oklab, ${end} ${Math.round(100 * Math.min(1, share))}%, var(--mid))`;
  if (metric === 'q' || metric === 'p') {
    return (value) => (value === null ? 'transparent' : mixed(Math.min(1, -Math.log10(Math.max(value, 1e-4)) / 4), 'var(--s2)'));
  }
  const reach = reachOf(values);
  return (value) => (value === null || value <= 0 ? 'transparent' : mixed(Math.abs(Math.log(value)) / reach, value > 1 ? 'var(--warm)' : 'var(--cool)'));
}

function showRamp(values, metric, colour) {
  const reach = Math.exp(reachOf(values));
  const shares = [...Array(11).keys()].map((step) => (step - 5) / 5);
  const isChance = metric === 'q' || metric === 'p';
  const steps = isChance ? shares.map((share) => 10 ** (-2 - 2 * share)) : shares.map((share) => reach ** share);
  const ends = isChance ? ['1', '0.0001 (a dot: 0.05 or less)'] : [`${show(1 / reach)} or less`, `${show(reach)} or more`];
  const cells = steps.map((step) => el('i', { style: { background: colour(step) } }));
  document.getElementById('head-scale').replaceChildren(
    el('p', { class: 'ramp' }, ends[0], el('span', { class: 'colours' }, ...cells), ends[1]));
}

function openHead(at) {
  opened = at;
  for (const [index, cell] of document.querySelectorAll('#head-grid [role="gridcell"]').entries()) {
    cell.setAttribute('aria-selected', index === at ? 'true' : 'false');
  }
  showHead();
}

function showHead() {
  const { heads, examples } = chosenSubject();
  const box = document.getElementById('head-detail');
  const layer = Math.floor(opened / heads.heads);
  const head = opened % heads.heads;
  const title = el('h3', {}, `Layer ${layer}, head ${head}`);
  if (weightsSelect.value !== 'pretrained' || !examples || examples.heads !== heads.heads) {
    const why = weightsSelect.value === 'pretrained' ? 'The run keeps no passages (--examples).' : 'Passages are kept for pretrained weights alone.';
    return box.replaceChildren(title, el('p', {}, headSays(numbersOfHeads(), opened)), el('p', { class: 'note' }, why));
  }
  const says = `The pairs of words with most attention, from the first to the second, in ${examples.read} passages; 1 is a passage's average.`;
  const parts = [title, el('p', { class: 'note' }, says), pairsOf(examples)];
  if (examples.passages.length) {
    const reader = el('div', { class: 'reader' });
    parts.push(el('h3', {}, 'Attention in a passage'), switches(reader, layer, head), reader);
    box.replaceChildren(...parts);
    showPassage(reader, layer, head);
  } else {
    box.replaceChildren(...parts);
  }
  return reachScrolled();
}

function pairsOf(examples) {
  const known = labels();
  const found = { same: [], different: [] };
  for (const [from, to, mean, count] of examples.pairs[opened]) {
    const [one, other] = [from, to].map((number) => known.get(examples.words[number]) || { topic: null, surface: examples.words[number] });
    if (one.topic === null || other.topic === null) continue;
    found[one.topic === other.topic ? 'same' : 'different'].push([one, other, mean, count]);
  }
  const table = (kind, title) =>
    el('table', {},
      el('caption', {}, title),
      el('thead', {}, el('tr', {}, ...['pair', 'attention', 'times'].map((name) => el('th', { scope: 'col' }, name)))),
      el('tbody', {}, ...(found[kind].length
        ? found[kind].map(([one, other, mean, count]) =>
          el('tr', {}, el('th', { scope: 'row' }, word(one.surface), ' → ', word(other.surface)), el('td', {}, show(mean)), el('td', {}, String(count))))
        : [el('tr', {}, el('td', { colspan: '3' }, 'none at this theta'))])));
  const boxed = (kind, title) => el('div', { class: 'scroll', role: 'region', 'aria-label': `Pairs ${title.toLowerCase()}` }, table(kind, title));
  return el('div', { class: 'pairs' }, boxed('same', 'Of one topic'), boxed('different', 'Of different topics'));
}

function switches(reader, layer, head) {
  const again = () => showPassage(reader, layer, head);
  const { passages } = chosenSubject().examples;
  if (reading.passage >= passages.length) reading.passage = 0;
  const passage = el('select', { onchange: (event) => { reading.passage = Number(event.target.value); reading.query = null; again(); } },
    ...passages.map((_, number) => el('option', { value: number, selected: number === reading.passage }, String(number + 1))));
  const which = el('select', { onchange: (event) => { reading.which = event.target.value; again(); } },
    ...[['all', 'all words'], ['same', 'only same-topic'], ['different', 'only different-topic']].map(([value, name]) =>
      el('option', { value, selected: value === reading.which }, name)));
  return el('div', { class: 'switches' }, el('label', {}, 'Passage ', passage), el('label', {}, 'Attention to ', which));
}

if (data.subjects.length) {
  metricSelect.addEventListener('change', showHeads);
  weightsSelect.addEventListener('change', showHeads);
  document.getElementById('topic-search').addEventListener('input', showTopics);
  // Another model has other topics, heads and passages.
  subjectSelect.addEventListener('change', () => { topic = null; opened = null; reading.passage = 0; reading.query = null; choose(); });
  thetaSelect.addEventListener('change', choose);
  showers.push(showTopics, showHeads);
  choose();
}
