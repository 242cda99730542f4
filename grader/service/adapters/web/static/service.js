// Shows a grading's steps as they come, and the page anew when it has ended.
const live = document.getElementById('live');
const steps = document.getElementById('steps');
const place = document.getElementById('place');
const title = document.getElementById('progress');
const source = new EventSource(live.dataset.events);
const rows = new Map();

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
  place.textContent = at ? `Place ${at} in the queue` : '';
});
source.addEventListener('begun', () => {
  title.textContent = 'Being graded';
  place.textContent = '';
  rows.clear();
  steps.replaceChildren();
  row('begun', 'The grading has begun', 'done');
});
source.addEventListener('task', event => {
  const task = data(event);
  const ended = task.ended === task.tests;
  row(task.task, `${task.task}: ${task.tests} tests${ended ? ' judged' : ''}`, ended ? 'done' : 'now');
});
source.addEventListener('again', () => {
  row('again', 'Something of ours broke; it is graded again', 'now');
});
source.addEventListener('end', () => {
  source.close();
  location.reload();
});
