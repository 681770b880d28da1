import { beforeAll, describe, expect, test } from 'bun:test'
import { extent } from '../../support/extent.ts'
import { PAGE } from '../page.ts'
import { CLIENTS, PLACES, QUESTIONS } from './clients.ts'
import { clientRow } from './page.ts'
import { runClients } from './run-all.ts'
import type { ClientFound } from './run-clients.ts'

/** The oldest and the newest version of the SDK, which cover each wire and era, and one client of another maker. */
const IN_SUITE = ['SDK 1.0, SSE', 'SDK 2.4', 'LangChain']
const TRIED = CLIENTS.filter(({ name, heavy }) => extent(IN_SUITE.includes(name), !heavy))

let found: readonly ClientFound[]

beforeAll(async () => {
  found = await runClients(TRIED)
}, 600_000)

describe.each(TRIED.map(client => [client.name, client] as const))('%s', (_, client) => {
  const one = (): ClientFound => found.find(each => each.client === client) as ClientFound

  test.each(PLACES)('does all it can at the place "%s"', place => {
    const expected = client.features.map(feature => [
      feature,
      place === 'shared' && QUESTIONS.includes(feature) ? 'not offered' : 'works',
    ])
    expect(one().places[place]).toEqual(Object.fromEntries(expected))
  })

  test(`speaks ${client.speaks}`, () => {
    expect(one().speaks).toBe(client.speaks)
  })

  test('says to its user why an unknown key is refused', () => {
    expect(one().refused).toMatch(client.refusal)
  })

  test('stands like this in docs/reference/compatibility.md (bun run compatibility writes it)', async () => {
    expect((await Bun.file(PAGE).text()).split('\n')).toContain(clientRow(one()))
  })
})
