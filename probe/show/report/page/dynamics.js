// A training at one step: a line in its figures, and the numbers there.
for (const box of document.querySelectorAll('.training')) {
  const { steps, numbers } = data.trainings[Number(box.dataset.training)];
  const slider = box.querySelector('input[type="range"]');
  const cursors = [...box.querySelectorAll('figure[data-places]')].map((figure) => {
    const cursor = drawn('line', { class: 'cursor', y1: 10, y2: 240 });
    figure.querySelector('.scroll svg').append(cursor);
    return [new Map(JSON.parse(figure.dataset.places)), cursor];
  });
  const move = () => {
    const at = Number(slider.value);
    box.querySelector('.step').textContent = String(steps[at]);
    slider.setAttribute('aria-valuetext', `step ${steps[at]}`);
    box.querySelectorAll('.at-step td').forEach((cell, index) => { cell.textContent = numbers[at][index]; });
    for (const [places, cursor] of cursors) {
      cursor.setAttribute('visibility', places.has(steps[at]) ? 'visible' : 'hidden');
      for (const end of ['x1', 'x2']) cursor.setAttribute(end, places.get(steps[at]) ?? 0);
    }
  };
  slider.addEventListener('input', move);
  move();
}
