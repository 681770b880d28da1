import { api, emptyState, html, PbElement, Resource, show, t } from 'patchbay/console'

/**
 * @typedef {object} Books
 * @property {readonly { readonly id: string, readonly title: string }[]} items
 */

/** The page of the library in the console: the books of the signed-in user. */
class LibraryPage extends PbElement {
  #books = new Resource(this, {
    read: signal => /** @type {Promise<Books>} */ (api.get('/api/plugins/library/books', { signal })),
  })

  render() {
    return show(this.#books, ({ items }) =>
      items.length === 0
        ? emptyState({ icon: 'book-open', title: t('You have no books') })
        : html`<section class="card"><ul class="list">${items.map(({ title }) => html`<li><span class="t1">${title}</span></li>`)}</ul></section>`,
    )
  }
}

customElements.define('library-page', LibraryPage)
