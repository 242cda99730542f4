// Shows a grading's steps as they come, and the page anew when it has ended.
const live = document.getElementById('live');
const steps = document.getElementById('steps');
const place = document.getElementById('place');
const title = document.getElementById('progress');
const source = new EventSource(live.dataset.events);
const rows = new Map();

// The words are the page's, in its language; {name} stands for a value.
function say(name, values = {}) {
  return live.dataset[name].replace(/\{(\w+)\}/g, (whole, key) => values[key] ?? whole);
}

function row(key, text, kind) {
  let line = rows.get(key);
  if (!line) {
    line = document.createElement('li');
    rows.set(key, line);
    steps.append(line);
  }
  line.textContent = text;
  line.className = kind;
}

// The page has the steps so far as text; the stream tells them again from the first.
steps.replaceChildren();
const data = event => JSON.parse(event.data);
source.addEventListener('place', event => {
  const at = data(event).place;
  place.textContent = at ? say('place', { place: at }) : '';
});
source.addEventListener('begun', () => {
  title.textContent = say('grading');
  place.textContent = '';
  rows.clear();
  steps.replaceChildren();
  row('begun', say('begun'), 'done');
});
source.addEventListener('task', event => {
  const task = data(event);
  const ended = task.ended === task.tests;
  row(task.task, say(ended ? 'judged' : 'tests', task), ended ? 'done' : 'now');
});
source.addEventListener('again', () => {
  row('again', say('again'), 'now');
});
source.addEventListener('end', () => {
  source.close();
  location.reload();
});
