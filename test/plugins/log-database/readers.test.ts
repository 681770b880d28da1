/** A record is for its readers alone, also where the index finds it by the term of another one. */
import { expect, test } from 'bun:test'
import { PageMaker } from '../../../plugins/log-database/search.ts'

const RECORD = {
  timestamp: '2026-11-29T09:30:00.000Z',
  level: 'INFO',
  message: 'one',
  userId: 'u1',
  client: '10.0.0.1',
}
const found = (readers: string) => ({ id: 1, readers, record: JSON.stringify(RECORD) })

function pageFor(readers: 'all' | readonly [string, ...string[]], stored: string) {
  const maker = new PageMaker({ where: { and: [] }, order: 'desc', limit: 10, readers })
  maker.take(found(stored))
  const { items, total } = maker.page()
  return { total, clients: items.map(item => JSON.parse(item).client) }
}

test('a record that the user may not read is neither shown nor counted', () => {
  expect(pageFor(['u1'], 'u1,u2')).toEqual({ total: 1, clients: ['10.0.0.1'] })
  for (const stored of ['u10,u2', 'u', '', 'u1 u2']) expect(pageFor(['u1'], stored)).toEqual({ total: 0, clients: [] })
  expect(pageFor('all', '')).toEqual({ total: 1, clients: ['10.0.0.1'] })
})

test('the address of a caller is for the caller and administrators, not for others who may read the record', () => {
  expect(pageFor(['u2'], 'u1,u2')).toEqual({ total: 1, clients: [undefined] })
})
