/** Writes the tables of docs/reference/ from the code. `bun test/support/reference-docs.ts` after a change. */
import { readFileSync } from 'node:fs'
import { LIMITS } from '../../core/config/limits.ts'
import type { ServerPhase } from '../../core/connections/server/machine/server-events.ts'
import { ERROR_CODES, FIELD_CODES, type HubErrorCode } from '../../core/contract/codes.ts'
import type { ErrorKind } from '../../core/contract/definition.ts'
import type { PluginEventName } from '../../core/contract/events.ts'
import { REMEDIES } from '../../core/contract/remedies.ts'
import { LIVE_EVENTS, TOPICS } from '../../core/http/live/live-events.ts'
import { bundledPlugins } from '../../core/hub/bundled.ts'
import { HUB_SETTINGS } from '../../core/hub/bundled-settings.ts'
import { OCCASIONS, PLUGIN_OCCASIONS } from './error-occasions.ts'
import { EVENT_OCCASIONS } from './event-occasions.ts'
import { licencesPage } from './licences.ts'
import { transitionRows } from './server-events.ts'

const folder = new URL('../../docs/reference/', import.meta.url)

/** Contents of the generated pages, by file name. */
export function referencePages(): Readonly<Record<string, string>> {
  return {
    'errors.md': errorsPage(),
    'events.md': eventsPage(),
    'limits.md': limitsPage(),
    'licences.md': licencesPage(),
    'server-states.md': statesPage(),
  }
}

/** Names that docs/reference/environment.md must hold. */
export function variableNames(): readonly string[] {
  return HUB_SETTINGS.variables.map(variable => variable.name)
}

function errorsPage(): string {
  const ofHub = (Object.entries(ERROR_CODES) as [HubErrorCode, Omit<ErrorKind, 'remedy'>][]).map(
    ([code, entry]) => [code, { ...entry, remedy: REMEDIES[code] }, OCCASIONS[code]] as const,
  )
  const ofPlugins = [...new Map(bundledPlugins.flatMap(({ errors = {} }) => Object.entries(errors)))].map(
    ([code, entry]) => [code, entry, PLUGIN_OCCASIONS[code]] as const,
  )
  const rows = [...ofHub, ...ofPlugins].map(([code, entry, occasion]) => {
    const rpc = entry.rpc ?? (entry.status >= 500 ? -32603 : -32600)
    const again = entry.retry ? 'yes' : ''
    return `| \`${code}\` | ${entry.status} | ${rpc} | ${again} | ${entry.title}: ${occasion} | ${entry.remedy} |`
  })
  const ofFields = [
    ...Object.entries(FIELD_CODES),
    ...bundledPlugins.flatMap(({ fieldCodes = {} }) => Object.entries(fieldCodes)),
  ]
  const fields = ofFields.map(([code, meaning]) => `| \`${code}\` | ${meaning} |`)
  return `# Error codes

Outside \`/mcp\` every error is \`application/problem+json\` (RFC 9457) with \`type\`, \`title\`, \`status\`, \`code\`, \`detail\`,
\`instance\`, \`requestId\`, and where it helps \`hint\` and \`errors[]\` (each with \`pointer\`, \`code\`, \`detail\`). Under \`/mcp\` it
is a JSON-RPC error with \`data.code\`, \`data.requestId\` and \`data.hint\`. Codes are stable; texts are not. A server's
\`status.reason.code\` is one of the same codes. With 401 comes \`WWW-Authenticate\`, with 405 \`Allow\`, with 415 \`Accept\`, with 429
and 503 \`Retry-After\` (\`server_offline\`: only while an attempt is planned, and at most 300 s); under \`/mcp\` the same seconds are in \`data.retryAfter\`. What the HTTP server itself refuses (400, 431, 505:
broken framing, a head over 16 KiB) has no body.

| code | HTTP | JSON-RPC | worth repeating | when | what to do |
|---|---|---|---|---|---|
${rows.join('\n')}

## Fields

\`validation_failed\` lists each wrong field: a JSON Pointer into the body (\`#/name\`) or a query parameter (\`?limit\`).

| code | the value |
|---|---|
${fields.join('\n')}

## Exit codes

\`0\` done · \`1\` cannot run (port taken, data folder locked or not writable, store corrupt, master key missing) or the command failed · \`2\` wrong
arguments or environment · \`78\` the settings file cannot be used. One line \`error: <code>: <message>\` on standard error.
`
}

/** Modules that merge events of features into those of the contract. */
const FEATURE_EVENTS = [
  'features/call-records.ts',
  'features/log-records.ts',
  'features/alerts.ts',
  'features/bridge.ts',
  'features/sharing.ts',
]

/** The members of the interface of events in a file of core, indented as in the contract. */
function payloadsIn(file: string): string {
  const source = readFileSync(new URL(`../../core/${file}`, import.meta.url), 'utf8')
  const found = /\n( *)(?:export )?interface PluginEvents \{\n([\s\S]*?)\n\1\}\n/.exec(source)
  const [, indent = '', body = ''] = found ?? []
  return `${body.replaceAll(new RegExp(`^${indent}`, 'gm'), '')}\n`
}

function eventsPage(): string {
  const body = ['contract/events.ts', ...FEATURE_EVENTS].map(payloadsIn).join('')
  const rows = [...body.matchAll(/^ {2}'([\w.]+)': (\{.*\}|\{\n[\s\S]*?\n {2}\}|\w+)$/gm)].map(
    ([, name = '', payload = '']) => {
      const topic = TOPICS.find(each => LIVE_EVENTS[each].some(known => known === name))
      const fields = payload.replace(/([^{\s])\n +(?=[a-z])/g, '$1; ').replace(/\s+/g, ' ')
      const said = EVENT_OCCASIONS[name as PluginEventName]
      return `| \`${name}\` | ${topic ? `\`${topic}\`` : ''} | ${said} | \`${fields.replaceAll('|', '\\|')}\` |`
    },
  )
  return `# Events

What a plugin can listen to by \`context.events.on(name, …)\`, and what \`GET /api/stream?topics=…\` tells under its topic. Each event has
\`name\` (\`event\` in the stream), \`at\`, the owner (\`ownerId\`, or the name as \`owner\` in the stream; null: the hub itself) and \`data\`. In
the stream, users get the events of what they own, of public servers, and of servers and groups that are shared with them (with the
role \`use\` a part of these, without the reason of a failure); administrators get all. \`log.record\`, \`tool.called\` and
\`metrics.tick\` are made only while somebody listens. Events that plugins define come under the topic \`plugins\`: to their owner, or to
every user when they are public, and to administrators.

| event | topic | when | \`data\` |
|---|---|---|---|
${rows.join('\n')}

\`AlertEvent\` is \`{ rule, severity, subject, incident? }\`, \`ShareChange\` is \`{ kind, id, ref, subject, role }\`; \`ToolCallRecord\` and \`LogRecord\` are described in
\`core/features/\`.
`
}

function limitsPage(): string {
  const row = ([name, value]: readonly [string, number]): string => `| \`${name}\` | ${value.toLocaleString('en-US')} |`
  const rows = Object.entries(LIMITS).map(row)
  const ofPlugins = bundledPlugins.flatMap(({ name, limits = {} }) =>
    Object.entries(limits).map(([limit, value]) => row([`${limit}\` of \`${name}`, value])),
  )
  return `# Limits

\`GET /api/limits\` shows the values in force and what is used of them. Units are in the names; \`…Ms\` are milliseconds.

| limit | value |
|---|---|
${rows.join('\n')}

Those of bundled plugins, which an administrator changes by \`"limits"\` of the plugin's entry or of \`PATCH /api/admin/plugins/{name}\`:

| limit | value |
|---|---|
${ofPlugins.join('\n')}
`
}

function statesPage(): string {
  return `# States of a server

\`status.state\` of a server is \`online\`, \`connecting\` or \`offline\`. Behind it stands one state machine
(\`core/connections/server/machine/server-machine.ts\`), a pure function from a phase and an event to the next phase and to what
is done then, in that order.

| phase | published as | meaning |
|---|---|---|
${Object.entries(PHASES)
  .map(([phase, [state, meaning]]) => `| \`${phase}\` | ${state} | ${meaning} |`)
  .join('\n')}

## Transitions

An event that is not listed for a phase changes nothing in it. The rows show a server that was connected before.

| event | in | becomes | what is done |
|---|---|---|---|
${transitionRows().join('\n')}
`
}

const PHASES: Readonly<Record<ServerPhase, readonly [published: string, meaning: string]>> = {
  loading: ['connecting', 'the hub reads what earlier runs have stored of it'],
  stopped: ['offline', 'it should not run'],
  asleep: ['offline (`idle`)', 'it connects with the next call'],
  waiting: ['offline', 'an attempt or a connection failed; the next attempt is scheduled'],
  failed: ['offline', 'only a change of its configuration, of a role or of the plugins can help'],
  preparing: ['connecting', 'an attempt checks rights, resolves and probes'],
  handshaking: ['connecting', 'the connection is being opened'],
  listing: ['connecting', 'calls are sent; its lists are read for the first time, for 10 s at most'],
  online: ['online', 'calls are sent; a reason says why a list is missing'],
  ending: ['as before', 'no call can be sent; the end of the connection follows'],
}

if (import.meta.main) {
  for (const [name, text] of Object.entries(referencePages())) await Bun.write(new URL(name, folder), text)
}
