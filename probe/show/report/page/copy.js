// A text copied with one click.
for (const button of document.querySelectorAll('.copy')) {
  button.addEventListener('click', async () => {
    const from = document.getElementById(button.dataset.copy);
    let done = true;
    try {
      await navigator.clipboard.writeText(from.textContent);
    } catch {
      // A page from disk may not have the clipboard: its text is marked and copied the old way.
      getSelection().selectAllChildren(from);
      done = document.execCommand('copy');
    }
    document.getElementById('copied').textContent = done ? 'Copied.' : 'Marked: copy it with Ctrl+C.';
  });
}
reachScrolled();
