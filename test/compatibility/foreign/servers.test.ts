import { beforeAll, describe, expect, test } from 'bun:test'
import { extent } from '../../support/extent.ts'
import { PAGE } from '../page.ts'
import { FAILED, rowNames, serverRow } from './page.ts'
import { runServers } from './run-all.ts'
import type { ServerFound } from './run-servers.ts'
import { ERAS, SERVERS, trialsOf } from './servers.ts'

/** One that asks whatever can be asked, and one that asks early. */
const IN_SUITE = ['everything', 'files']
const TRIED = SERVERS.filter(({ id, heavy }) => extent(IN_SUITE.includes(id), !heavy))

let found: readonly ServerFound[]

beforeAll(async () => {
  found = await runServers(TRIED)
}, 600_000)

describe.each(TRIED.map(server => [server.name, server] as const))('%s', (_, server) => {
  const cases = server.sessions.flatMap(session => ERAS.map(era => [session, era] as const))

  test.each(cases)('does all it can, %s, for a client of %s', (session, era) => {
    const one = found.find(each => each.server === server && each.session === session && each.era === era)
    expect(one?.seen.trials).toEqual(trialsOf(server, session, era).map(({ label }) => [label, 'works']))
  })

  test('stands like this in docs/reference/compatibility.md (bun run compatibility writes it)', async () => {
    expect((await Bun.file(PAGE).text()).split('\n')).toContain(serverRow(server, found))
  })
})

test('docs/reference/compatibility.md has a row for each client and server, and says of none that something failed', async () => {
  const page = await Bun.file(PAGE).text()
  expect(rowNames().filter(name => page.split(`\n${name}`).length !== 2)).toEqual([])
  expect(page).not.toContain(FAILED)
})
