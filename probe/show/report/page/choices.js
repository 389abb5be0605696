// Which model and which theta are looked at; who shows them is told.
const choice = { subject: 0, theta: 0 };
const showers = [];
const subjectSelect = document.getElementById('choose-subject');
const thetaSelect = document.getElementById('choose-theta');

const chosenSubject = () => data.subjects[choice.subject];
// Place of the chosen theta among those of the chosen model; -1 where it has none.
const chosenTheta = () => chosenSubject().thetas.indexOf(data.thetas[choice.theta]);

function choose() {
  const { thetas } = data.subjects[Number(subjectSelect.value)];
  for (const option of thetaSelect.options) option.disabled = !thetas.includes(data.thetas[Number(option.value)]);
  if (thetaSelect.selectedOptions[0].disabled) {
    thetaSelect.value = String(data.thetas.indexOf(thetas[Math.floor(thetas.length / 2)]));
  }
  choice.subject = Number(subjectSelect.value);
  choice.theta = Number(thetaSelect.value);
  for (const section of document.querySelectorAll('section')) {
    const blocks = [...section.querySelectorAll('.block')];
    for (const block of blocks) {
      block.hidden = block.dataset.subject !== String(choice.subject) || block.dataset.theta !== String(choice.theta);
    }
    const none = section.querySelector('.none');
    if (none) none.hidden = blocks.some((block) => !block.hidden);
  }
  const now = `${chosenSubject().label}, theta ${show(data.thetas[choice.theta])}`;
  for (const line of document.querySelectorAll('.chosen-now')) line.textContent = now;
  for (const shower of showers) shower();
  reachScrolled();
}

document.getElementById('choose-theme').addEventListener('change', (event) => {
  theme(event.target.value);
});
function theme(name) {
  const wanted = (feature) => matchMedia(feature).matches;
  const system = wanted('(prefers-contrast: more)') ? 'contrast' : wanted('(prefers-color-scheme: dark)') ? 'dark' : 'light';
  document.documentElement.dataset.theme = name || system;
}
for (const feature of ['(prefers-contrast: more)', '(prefers-color-scheme: dark)']) {
  matchMedia(feature).addEventListener('change', () => theme(document.getElementById('choose-theme').value));
}
theme('');
