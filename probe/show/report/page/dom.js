// Elements are made of text, never of markup: a word of a corpus is data.
const data = JSON.parse(document.getElementById('data').textContent);
document.documentElement.classList.add('js');

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name === 'style') for (const [key, one] of Object.entries(value)) node.style.setProperty(key, one);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}
const el = (name, attributes = {}, ...children) => filled(document.createElement(name), attributes, children);
const drawn = (name, attributes = {}, ...children) =>
  filled(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
const word = (text) => el('bdi', {}, text);
const show = (value) => (value === null || value === undefined ? '–' : String(Number(Number(value).toPrecision(3))));
const percent = (value) => (value === null || value === undefined ? '–' : `${(100 * value).toFixed(1)} %`);

// One stop of the Tab key for many items; the arrow keys go among them, `columns` to a row.
function roving(items, columns, first) {
  let at = Math.max(0, first);
  items.forEach((item, index) => {
    item.setAttribute('tabindex', index === at ? '0' : '-1');
    item.addEventListener('focus', () => {
      items[at].setAttribute('tabindex', '-1');
      at = index;
      item.setAttribute('tabindex', '0');
    });
    item.addEventListener('keydown', (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
      const to = event.key === 'Home' ? 0 : event.key === 'End' ? items.length - 1 : step === undefined ? -1 : index + step;
      if (to < 0 || to >= items.length) return;
      event.preventDefault();
      items[to].focus();
    });
  });
}

// A part that can be scrolled can be reached by the keyboard.
function reachScrolled() {
  for (const part of document.querySelectorAll('.scroll')) {
    if (part.scrollWidth > part.clientWidth + 1 || part.scrollHeight > part.clientHeight + 1) part.setAttribute('tabindex', '0');
    else part.removeAttribute('tabindex');
  }
}
addEventListener('resize', reachScrolled);
document.addEventListener('toggle', reachScrolled, true);
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') for (const one of document.querySelectorAll('.term')) one.classList.add('quiet');
});
for (const one of document.querySelectorAll('.term')) {
  for (const name of ['pointerenter', 'focus']) one.addEventListener(name, () => one.classList.remove('quiet'));
}
