import { z } from 'zod'
import type { LiveCredentials } from '../../../auth/live-credentials.ts'
import type { Upstreams } from '../../../connections/api.ts'
import { HubError } from '../../../contract/errors.ts'
import type { ServerRecord, UserActor } from '../../../contract/records.ts'
import { parseDuration } from '../../../domain/duration.ts'
import { validationError } from '../../../domain/validation-error.ts'
import type { Registry } from '../../../registry/api.ts'
import { type Route, route } from '../../route.ts'
import { exampleList, listOf, pageFields, refParams, timestamp } from '../schemas.ts'
import { noteChange, page, qualified, recordReply, serverView } from '../views.ts'
import { exampleServer, server } from './server-schemas.ts'

/** Dependencies of starting, stopping and approving servers. */
export interface ServerControlDeps {
  readonly registry: Pick<Registry, 'servers' | 'shares' | 'audit'>
  readonly upstreams: Pick<
    Upstreams,
    'status' | 'catalog' | 'definitions' | 'start' | 'stop' | 'restart' | 'refresh' | 'settled' | 'stderr'
  >
  readonly credentials: Pick<LiveCredentials, 'during'>
}

/** Longest `?wait=`, in milliseconds. */
const MAX_WAIT_MS = 60_000

const tag = 'servers'

type Verb = 'start' | 'stop' | 'restart' | 'refresh'

const SUMMARY: Readonly<Record<Verb, string>> = {
  start: 'Switch a server on, and connect now',
  stop: 'Switch a server off; it stays off over a restart of the hub',
  restart: 'Close the connections of a server and reconnect',
  refresh: 'Read the lists of a server again, and find out again which versions of MCP it speaks',
}

/** Routes to start, stop, restart and refresh a server, and to read its stderr. */
export function serverControlRoutes(deps: ServerControlDeps): Route[] {
  const verbs: readonly Verb[] = ['start', 'stop', 'restart', 'refresh']
  return [...verbs.map(verb => controlRoute(deps, verb)), logRoute(deps)]
}

function controlRoute(deps: ServerControlDeps, verb: Verb): Route {
  return route({
    method: 'POST',
    path: `/api/servers/{ref}/${verb}`,
    access: 'user',
    summary: SUMMARY[verb],
    tag,
    params: refParams,
    query: z.strictObject({
      wait: z
        .string()
        .max(32)
        .optional()
        .meta({ description: 'Hold the answer for the outcome, at most `60s`', examples: ['10s'] }),
    }),
    responses: { 202: { description: 'Under way; with `wait` the outcome', schema: server, example: exampleServer } },
    async handle({ actor, params, query, info, signal }) {
      const waitMs = waitOf(query.wait)
      const found = await deps.registry.servers.resolve(actor, params.ref, 'change')
      const record = await apply(deps, actor, found, verb)
      noteChange(deps.registry.audit, actor, info, `server.${verb}`, record)
      if (waitMs > 0) {
        info.keepOpen()
        await deps.credentials.during(actor, signal, () => deps.upstreams.settled(record.id, waitMs))
      }
      // The wait may be long enough for a share to end.
      const present = waitMs > 0 ? await deps.registry.servers.resolve(actor, qualified(record), 'use') : record
      return recordReply(serverView(deps, actor, present), 202)
    },
  })
}

/** Applies the verb. Enabling and disabling are stored in the registry; other verbs affect only the present connection. */
async function apply(
  { registry, upstreams }: ServerControlDeps,
  actor: UserActor,
  record: ServerRecord,
  verb: Verb,
): Promise<ServerRecord> {
  // Disabling is allowed and stored; the other verbs would start something that may not run.
  if (verb !== 'stop' && record.ownerDisabled) {
    throw new HubError('owner_disabled', `Cannot ${verb} "${record.name}": the account of its owner is disabled`)
  }
  if (verb === 'refresh') {
    if (!record.enabled) throw switchedOff(record)
    // A probe starts the command again, so the save checks whether this actor may start it.
    if (actor.restricted) await registry.servers.setEnabled(actor, qualified(record), true)
    upstreams.refresh(record.id, { probe: true })
    return record
  }
  // Saved even without a change: the save checks whether the owner may still run the server.
  const now = await registry.servers.setEnabled(actor, qualified(record), verb !== 'stop')
  if (verb === 'restart' && record.enabled) upstreams.restart(record.id)
  else if (verb === 'stop') upstreams.stop(record.id)
  else upstreams.start(record.id)
  return now
}

function switchedOff(record: ServerRecord): HubError {
  return new HubError('server_offline', `Cannot refresh "${record.name}": it is switched off`, {
    hint: 'Start it first.',
  })
}

/** The milliseconds in `?wait=`; absent is 0. Throws `validation_failed` at `?wait`. */
export function waitOf(text: string | undefined): number {
  if (text === undefined) return 0
  const waitMs = parseDuration(text)
  if (waitMs === undefined) {
    const detail = `wait is "${text}", which is no duration such as "10s"`
    throw validationError([{ pointer: '?wait', code: 'duration', detail }])
  }
  if (waitMs > MAX_WAIT_MS) {
    throw validationError([{ pointer: '?wait', code: 'range', detail: `wait is "${text}", longer than 60s` }])
  }
  return waitMs
}

const logLine = z.object({ at: timestamp, line: z.string() })

function logRoute(deps: ServerControlDeps): Route {
  return route({
    method: 'GET',
    path: '/api/servers/{ref}/logs',
    access: 'user',
    summary: 'The last lines that a server wrote to stderr, oldest first',
    tag,
    params: refParams,
    query: z.strictObject({ stream: z.enum(['stderr']).default('stderr'), ...pageFields }),
    responses: {
      200: {
        description: 'Lines, at most 200 are kept; `offset` counts back from the last one',
        schema: listOf(logLine),
        example: exampleList({ at: '2026-11-21T09:30:00.000Z', line: 'listening' }),
      },
    },
    async handle({ actor, params, query }) {
      const record = await deps.registry.servers.resolve(actor, params.ref, 'see')
      return { body: lastLines(deps.upstreams.stderr(record.id), query) }
    },
  })
}

/** The page that ends `offset` lines before the last one: logs are paged from the end. */
export function lastLines<T>(lines: readonly T[], query: { readonly limit: number; readonly offset: number }) {
  const newestFirst = page([...lines].reverse(), query)
  return { ...newestFirst, items: [...newestFirst.items].reverse() }
}
