// Single keys follow the links and press the buttons that name them, unless somebody is writing.
document.addEventListener('keydown', event => {
  const writes = event.target.closest('input, textarea, select');
  if (writes || event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  const found = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (!found) return;
  event.preventDefault();
  found.click();
  if (found.hash === '#say') document.getElementById('text').focus();
});
