import { definePlugin } from 'patchbay/contract'
import type {} from '../library/types.ts'

const CLASSICS = ['emma', 'faust', 'hamlet']

/** Adds a shelf to the library, which it needs. */
export default definePlugin({
  name: 'library-classics',
  contract: 1,
  needs: ['library'],
  setup(context) {
    context.contribute('libraryShelf', 'classics', {
      label: 'Classics',
      holds: title => CLASSICS.includes(title.toLowerCase()),
    })
    return undefined
  },
})
