/** The public types of the library for other plugins: its codes, its event, its limit and its point. */

/** Says which books stand on a shelf. */
export interface Shelf {
  readonly label: string
  holds(title: string): boolean
}

declare module 'patchbay/contract' {
  interface ErrorCodes {
    library_full: { books: number }
    library_book_not_found: never
  }
  interface Limits {
    booksPerUser: number
  }
  interface PluginEvents {
    'library.book_added': { bookId: string; title: string }
  }
  interface ExtensionPoints {
    libraryShelf: Shelf
  }
}
