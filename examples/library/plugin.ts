import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { definePlugin } from 'patchbay/contract'
import { z } from 'zod'
import { shops } from './shops.ts'
import { books, type LibraryTables, stars } from './tables.ts'
import type {} from './types.ts'

const book = z.object({ id: z.string(), title: z.string(), stars: z.number().nullish(), shelves: z.array(z.string()) })
const bookId = z.object({ id: z.string().max(64) })

export default definePlugin({
  name: 'library',
  contract: 1,
  version: '2.0.0',
  config: z.object({ greeting: z.string().max(100).default('Welcome') }),
  variables: { LIBRARY_GREETING: 'greeting' },
  limits: { booksPerUser: 3 },
  errors: {
    library_full: { status: 409, title: 'The library is full', remedy: 'Remove a book first.' },
    library_book_not_found: {
      status: 404,
      title: 'No such book',
      remedy: 'GET /api/plugins/library/books lists yours.',
    },
  },
  words: {
    'The library is full': '书库已满',
    'Remove a book first.': '请先移除一本书。',
    'No such book': '没有这本书',
    'You have no books': '您还没有书',
  },
  events: { 'library.book_added': { audience: 'owner' } },
  points: { libraryShelf: { main: true } },
  migrations: { '0001-books': books, '0002-stars': stars },
  setup(context) {
    const { routes, settings, secrets, jobs, limits } = context
    const tables = context.tables<LibraryTables>()
    const ownShops = context.records.define(shops)
    const shelves = context.contributions('libraryShelf')
    const shelvesOf = (title: string) => [...shelves].flatMap(([id, shelf]) => (shelf.holds(title) ? [id] : []))

    routes.add({
      method: 'GET',
      path: '/books',
      access: 'user',
      summary: 'Your books',
      query: z.object({ title: z.string().max(200).optional() }),
      answers: {
        200: { description: 'The books, by title', schema: z.object({ greeting: z.string(), items: z.array(book) }) },
      },
      async handle({ actor, query: { title } }) {
        const items = await tables.read(db => {
          const own = db
            .selectFrom('book as b')
            .selectAll('b')
            .where('b.owner_id', '=', actor.userId)
            .orderBy('b.title')
          return (title === undefined ? own : own.where('b.title', '=', title)).execute()
        })
        const shown = items.map(({ owner_id: _, ...item }) => ({ ...item, shelves: shelvesOf(item.title) }))
        return { body: { greeting: context.config.greeting, items: shown } }
      },
    })

    routes.add({
      method: 'POST',
      path: '/books',
      access: 'user',
      summary: 'Add a book',
      body: z.object({ title: z.string().trim().min(1).max(200) }),
      answers: { 201: { description: 'The book', schema: book, example: { id: 'b1', title: 'Emma', shelves: [] } } },
      audit: 'book_add',
      async handle({ actor, body: { title } }) {
        const id = crypto.randomUUID()
        await tables.write(async (db, after) => {
          const { count } = await db
            .selectFrom('book')
            .select(({ fn }) => fn.countAll().as('count'))
            .where('owner_id', '=', actor.userId)
            .executeTakeFirstOrThrow()
          const most = limits.booksPerUser
          if (Number(count) >= most)
            throw context.error('library_full', `You have ${most} books, which is the limit`, { data: { books: most } })
          await db.insertInto('book').values({ id, owner_id: actor.userId, title }).execute()
          after(() => context.events.emit('library.book_added', actor.userId, { bookId: id, title }))
        })
        await settings.setUser(actor.userId, { lastTitle: title })
        return { status: 201, body: { id, title, shelves: shelvesOf(title) } }
      },
    })

    routes.add({
      method: 'PUT',
      path: '/books/{id}/stars',
      access: 'user',
      summary: 'Give a book stars',
      params: bookId,
      body: z.object({ stars: z.int().min(1).max(5) }),
      answers: { 204: { description: 'Given' } },
      async handle({ actor, params: { id }, body }) {
        const { numUpdatedRows } = await tables.write(db =>
          db
            .updateTable('book')
            .set(body)
            .where('id', '=', id)
            .where('owner_id', '=', actor.userId)
            .executeTakeFirstOrThrow(),
        )
        if (numUpdatedRows === 0n) throw context.error('library_book_not_found', 'You have no such book')
        return { status: 204 }
      },
    })

    routes.add({
      method: 'PUT',
      path: '/catalogue-key',
      access: 'admin',
      summary: 'Set the key of the catalogue, which nobody is shown',
      body: z.object({ key: z.string().min(1).max(200) }),
      answers: { 200: { description: 'Its last characters', schema: z.object({ last4: z.string() }) } },
      async handle({ body: { key } }) {
        const place = secrets.hub('catalogue')
        await place.put(key)
        return { body: { last4: (await place.describe())?.last4 } }
      },
    })

    /** Writes how many books there are into the plugin's folder. */
    const count = () =>
      jobs.once('count', async () => {
        const { count } = await tables.read(db =>
          db
            .selectFrom('book')
            .select(({ fn }) => fn.countAll().as('count'))
            .executeTakeFirstOrThrow(),
        )
        await writeFile(join(await context.folder(), 'count.txt'), String(count), { mode: 0o600 })
        context.metrics.gauge('library_books', Number(count))
        context.metrics.gauge('library_shops', (await ownShops.list()).filter(({ enabled }) => enabled).length)
      })
    jobs.every(1_000, count)

    context.contribute('page', 'library', {
      path: 'library',
      title: { en: 'Library', zh: '图书馆' },
      icon: 'book-open',
      module: fileURLToPath(new URL('./page.js', import.meta.url)),
      element: 'library-page',
      access: 'user',
    })
    return undefined
  },
})
