import {
  type ClientKind,
  EXCEPTIONS,
  exceptionFor,
  FEATURES,
  type Feature,
  MAIN_CLIENTS,
  OLDER_CLIENTS,
  OLDER_UPSTREAMS,
  UPSTREAMS,
  type UpstreamKind,
} from './axes.ts'
import type { Found } from './matrix.ts'

export const PAGE = new URL('../../docs/reference/compatibility.md', import.meta.url)

/** Remarks on cells that work, with their conditions. */
const REMARKS: readonly {
  readonly applies: (feature: Feature, upstream: UpstreamKind) => boolean
  readonly text: string
}[] = [
  {
    applies: (feature, { transport, era }) =>
      transport === 'stdio' && era === 'legacy' && ['sampling', 'elicitation', 'roots'].includes(feature),
    text:
      'By a process of its own, which each session of a client that can be asked gets once the program was seen to ask; ' +
      '`"session": "per-session"` gives it from the start. A shared process is offered none of the three: a first question ' +
      'during a call is answered `-32601` at once.',
  },
  {
    applies: (feature, { transport, era }) =>
      ['sampling', 'elicitation', 'roots'].includes(feature) && era === 'legacy' && transport !== 'stdio',
    text:
      'By a connection of its own, which a client that declares one of the three gets without any setting. ' +
      '`"session": "shared"` refuses it as above.',
  },
  {
    applies: (feature, { transport }) => feature === 'log messages' && (transport === 'stdio' || transport === 'sse'),
    text:
      'These transports do not say to which call a message belongs. On a shared connection it reaches the only call in ' +
      'flight; with several in flight, or within a minute after the call of somebody else was given up, it goes to the ' +
      'hub\'s log alone. `"session": "per-session"` takes the doubt away.',
  },
]

/** The page, made from the results. */
export function compatibilityPage(found: readonly Found[]): string {
  const notes = [...REMARKS.map(({ text }) => text), ...EXCEPTIONS.map(({ reason }) => reason)]
  return `# Which client can do what with which server

Each cell was tried through a running hub, from end to end and with two clients at once: the thing itself has arrived at the
other end, and at nobody else. \`bun run compatibility\` tries them again and writes this page, and the suite
fails where the page says anything else.

${MAIN_CLIENTS.map(client => section(client, found)).join('\n')}
${notes.map((text, at) => `${at + 1}. ${text}`).join('\n')}

## Older versions

- Clients of ${list(OLDER_CLIENTS.map(({ version }) => version))} over streamable HTTP: ${olderClients(found)}
- Servers that answer ${list([...new Set(OLDER_UPSTREAMS.map(({ version = '' }) => version))])} in \`initialize\`, over stdio and streamable HTTP: ${olderUpstreams(found)}

What a row means:

| row | what was seen |
|---|---|
| tool call | the answer, character for character |
| progress | every step, under the client's own token, also where two clients use the same token |
| cancel | the server saw that this call was cancelled, and the call of the other client went on |
| sampling, elicitation, roots | the client that called was asked, and its answer reached the server |
| subscribe | an update reached the subscriber alone, and not after it had unsubscribed; \`resources/subscribe\`, for 2026-07-28 \`subscriptions/listen\` |
| log messages | those of its own calls, from the level that the client wanted: \`info\` until it has said one; for 2026-07-28 none |
| list_changed | the notices for tools, prompts and resources, then the new one in each list, then the answer of the new tool |
`
}

function section(client: ClientKind, found: readonly Found[]): string {
  const head = ['', ...UPSTREAMS.map(({ name }) => name)]
  const rows = FEATURES.map(feature => [feature, ...UPSTREAMS.map(upstream => cell(client, upstream, feature, found))])
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return `## A client of ${client.name}

${line(head)}
|${'---|'.repeat(head.length)}
${rows.map(line).join('\n')}
`
}

function cell(client: ClientKind, upstream: UpstreamKind, feature: Feature, found: readonly Found[]): string {
  const numbers = REMARKS.flatMap((remark, at) => (remark.applies(feature, upstream) ? [at + 1] : []))
  const exception = exceptionFor(client, upstream, feature)
  if (exception) numbers.push(REMARKS.length + EXCEPTIONS.indexOf(exception) + 1)
  const marks = numbers.length > 0 ? ` [${numbers.join(', ')}]` : ''
  const outcome = outcomeOf(client, upstream, feature, found)
  return `${outcome.startsWith('-') ? `\`${outcome}\`` : outcome}${marks}`
}

function outcomeOf(client: ClientKind, upstream: UpstreamKind, feature: Feature, found: readonly Found[]): string {
  return (
    found.find(one => one.client === client && one.upstream === upstream && one.feature === feature)?.outcome ??
    'not tried'
  )
}

const list = (words: readonly string[]): string => `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`

/** Differences from the newest version of the same era; one sentence if there are none. */
function olderClients(found: readonly Found[]): string {
  const newest = MAIN_CLIENTS.find(({ version }) => version === '2025-11-25') as ClientKind
  const pairs = OLDER_CLIENTS.flatMap(client =>
    UPSTREAMS.map(upstream => [client, upstream, newest, upstream] as const),
  )
  return `as a client of ${newest.version}, ${differences(pairs, found)}`
}

function olderUpstreams(found: readonly Found[]): string {
  const newestOf = ({ transport, era }: UpstreamKind) =>
    UPSTREAMS.find(each => each.transport === transport && each.era === era) as UpstreamKind
  const pairs = MAIN_CLIENTS.flatMap(client =>
    OLDER_UPSTREAMS.map(upstream => [client, upstream, client, newestOf(upstream)] as const),
  )
  return `as servers of 2025-11-25 on the same transport, ${differences(pairs, found)}`
}

/** Compares each pair with the pair whose cells it should have. */
function differences(
  pairs: readonly (readonly [ClientKind, UpstreamKind, ClientKind, UpstreamKind])[],
  found: readonly Found[],
): string {
  const differing = pairs.flatMap(([client, upstream, ...as]) =>
    FEATURES.flatMap(feature => {
      const outcome = outcomeOf(client, upstream, feature, found)
      if (outcome === outcomeOf(...as, feature, found)) return []
      return [`  - ${feature}, ${client.name} with ${upstream.name}: ${outcome}`]
    }),
  )
  return differing.length === 0 ? 'in every cell.' : `but:\n${differing.join('\n')}`
}
