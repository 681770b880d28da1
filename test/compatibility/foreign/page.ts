import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CLIENTS, type ForeignClient, PLACES, type PlaceName } from './clients.ts'
import type { ClientFound } from './run-clients.ts'
import type { ServerFound } from './run-servers.ts'
import { type ForeignServer, SERVERS, SESSIONS, type Session } from './servers.ts'

/** The heading of this part of the page. */
export const FOREIGN_HEADING = '## Clients and servers of other makers'

/** The word on the page for something that did not work. */
export const FAILED = 'FAILED'

/** The second part of the page: every client and server, with its results. */
export function foreignSection(clients: readonly ClientFound[], servers: readonly ServerFound[]): string {
  const clientRows = clients.map(clientRow)
  const serverRows = [...new Set(servers.map(({ server }) => server))].map(server => serverRow(server, servers))
  return `${FOREIGN_HEADING}

Each was run as its users run it, with the version named here, against a hub on the same machine. \`bun run compatibility\`
runs all of them and writes this page. The suite runs some of those without [heavy], \`bun run test --whole\` all of these, and
fails where their rows say anything else.

### Clients

Each was tried in a group and with single servers: one of 2026-07-28, one of 2025-11-25 with a process for each session, and
one of 2025-11-25 that all clients share, which may not ask. Sampling, elicitation and roots are what it answers when it is
asked; what a row does not name its package does not have.

| client | speaks | what works | with an unknown key its user sees |
|---|---|---|---|
${clientRows.join('\n')}

### Servers

Each was called by a client of 2025-11-25 and by one of 2026-07-28, both of which can be asked; where a cell has one answer,
both found the same. Notion's API, GitHub's API and the page that Playwright opens were a web server on the same machine.

| server | runs as | shared | with a connection for each session |
|---|---|---|---|
${serverRows.join('\n')}

server-filesystem and FastMCP ask for roots outside of calls. A client of 2026-07-28 hears questions in the answer of a call
alone, so these servers may go without its roots: [../servers.md](../servers.md#whose-connection).
`
}

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
const heavyMark = (heavy: boolean | undefined): string => (heavy ? ' [heavy]' : '')

/** The line of a client in the table. */
export function clientRow(found: ClientFound): string {
  const { client, speaks, refused } = found
  const name = `${client.name} (${versionOf(client.package)})${heavyMark(client.heavy)}`
  return row([name, speaks, whatWorks(found), code(refused)])
}

/** The line of a server in the table. */
export function serverRow(server: ForeignServer, found: readonly ServerFound[]): string {
  const name = `${server.name} (${versionOf(server.package)})${heavyMark(server.heavy)}`
  return row([name, server.how, ...SESSIONS.map(session => serverCell(server, session, found))])
}

/** The name that begins the line of each client and server. */
export function rowNames(): readonly string[] {
  return [...CLIENTS, ...SERVERS].map(each => `| ${each.name} (${versionOf(each.package)})${heavyMark(each.heavy)} |`)
}

const PLACE_WORDS: Readonly<Record<PlaceName, string>> = {
  group: 'in a group',
  newer: 'with a server of 2026-07-28',
  own: 'with a process for each session',
  shared: 'shared',
}

/** One text if all places are alike; otherwise the places that differ from the first are named. */
function whatWorks({ client, places }: ClientFound): string {
  const [usual, ...rest] = PLACES.map(place => [place, placeText(client, places[place])] as const)
  const others = rest.filter(([, text]) => text !== usual?.[1]).map(([place, text]) => `${PLACE_WORDS[place]}: ${text}`)
  return [usual?.[1], ...others].join('; ')
}

function placeText({ features }: ForeignClient, outcomes: ClientFound['places'][PlaceName]): string {
  const having = (...wanted: string[]) => features.filter(each => wanted.includes(outcomes[each] ?? ''))
  const refused = having('not offered')
  const failed = features
    .filter(each => !having('works', 'not offered').includes(each))
    .map(each => `${each}: ${FAILED}`)
  const text = having('works').join(', ')
  return [refused.length > 0 ? `${text}, but ${refused.join(', ')} not offered` : text, ...failed].join(', ')
}

function serverCell(server: ForeignServer, session: Session, found: readonly ServerFound[]): string {
  const seen = found.filter(each => each.server === server && each.session === session)
  if (seen.length === 0) return 'has no sessions'
  const texts = seen.map(({ era, seen: { counts, trials } }) => {
    const numbers = Object.entries(counts).flatMap(([kind, count]) =>
      count > 0 ? [`${count} ${plural(kind, count)}`] : [],
    )
    const worked = trials.map(([label, outcome]) => (outcome === 'works' ? label : `${label}: ${FAILED}`))
    return [era, `${numbers.join(', ')}; ${worked.join(', ')}`] as const
  })
  const alike = texts.every(([, text]) => text === texts[0]?.[1])
  return alike ? (texts[0]?.[1] ?? '') : texts.map(([era, text]) => `${era}: ${text}`).join('; ')
}

const plural = (kind: string, count: number): string => (count === 1 ? kind.replace(/s$/, '') : kind)

/** In a table a bar ends the cell, in code too. */
const code = (text: string): string => `\`${text.replaceAll('`', "'").replaceAll('|', '\\|')}\``

const PACKAGES = ['package.json', '../../../package.json'].map(
  path =>
    JSON.parse(readFileSync(join(import.meta.dir, path), 'utf8')) as Record<string, Record<string, string> | undefined>,
)

/** The exact version of a package in package.json; for an alias, the version of its target. */
function versionOf(name: string): string {
  for (const { dependencies, devDependencies } of PACKAGES) {
    const wanted = dependencies?.[name] ?? devDependencies?.[name]
    if (wanted !== undefined) return wanted.replace(/^npm:.*@/, '')
  }
  throw new Error(`No package.json asks for ${name}`)
}
