/** The page of the library in the console: the titles of the books of whoever is signed in. */
class LibraryPage extends HTMLElement {
  /** @param {import('patchbay/features').PageConsole} console */
  set console(console) {
    void console.api.get('/api/plugins/library/books').then(({ items }) => {
      this.replaceChildren(
        ...items.map(({ title }) => Object.assign(document.createElement('p'), { textContent: title })),
      )
    })
  }
}

customElements.define('library-page', LibraryPage)
