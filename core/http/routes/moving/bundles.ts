import { z } from 'zod'
import type { Bundles } from '../../../bundles/create.ts'
import { inputsOf } from '../../../bundles/inputs.ts'
import { unusable } from '../../../bundles/manifest.ts'
import type { StoredBundle } from '../../../bundles/store.ts'
import { LIMITS } from '../../../config/limits.ts'
import { HubError } from '../../../contract/errors.ts'
import type { UserActor } from '../../../contract/records.ts'
import type { Registry } from '../../../registry/api.ts'
import type { RequestInfo } from '../../../request/request-info.ts'
import { type Route, route } from '../../route.ts'
import { plannedQuery, plannedReply } from '../planned.ts'
import { exampleList, listOf, pageQuery, timestamp } from '../schemas.ts'
import { exampleServer, server } from '../servers/server-schemas.ts'
import { noteChange, page, qualified, recordReply, type ServerViewDeps, serverView } from '../views.ts'

/** Dependencies of the routes of bundles. */
export interface BundleRoutesDeps extends ServerViewDeps {
  readonly bundles: Bundles
  readonly registry: ServerViewDeps['registry'] & Pick<Registry, 'audit'>
}

const tag = 'moving'
const base = '/api/bundles'
const idParams = z.object({
  id: z.string().min(1).max(256).meta({ description: '`bundleId`' }),
})
const value = z.union([z.string().max(8_192), z.number(), z.boolean(), z.array(z.string().max(8_192)).max(50)])

const input = z.object({
  name: z.string(),
  label: z.string(),
  description: z.string().optional(),
  required: z.boolean(),
  secret: z.boolean(),
  format: z.enum(['string', 'number', 'boolean', 'path']),
  kind: z.enum(['file', 'directory']).optional().meta({ description: 'Of a path in the server’s own folder' }),
  many: z.boolean().meta({ description: 'Takes a list of texts' }),
  min: z.number().optional(),
  max: z.number().optional(),
  default: value.optional(),
})

const bundle = z.object({
  bundleId: z.string().meta({ description: 'SHA-256 of the file' }),
  name: z.string(),
  title: z.string(),
  version: z.string(),
  description: z.string().optional(),
  publisher: z.string().optional(),
  homepage: z.string().optional(),
  license: z.string().optional(),
  manifestVersion: z.string(),
  type: z.enum(['node', 'python', 'binary', 'uv']),
  bytes: z.number().int(),
  unpackedBytes: z.number().int().meta({
    description: 'Disk space of its files, which counts to what you have stored, as `bytes` does. 0: not known yet',
  }),
  signature: z.enum(['none', 'not-checked']).meta({ description: '`not-checked`: it is signed, by whom is not known' }),
  usable: z.boolean(),
  why: z.string().optional().meta({ description: 'Why it cannot be installed' }),
  inputs: z.array(input),
  tools: z
    .array(z.object({ name: z.string(), description: z.string().optional() }))
    .meta({ description: 'What its manifest names; the server’s own list counts' }),
  servers: z.array(z.string()).meta({ description: 'Your servers that run it' }),
  usedAt: timestamp.meta({ description: 'Sent or installed last; a day later it is removed unless a server runs it' }),
})

const example = {
  ...{ bundleId: '4f1c…', name: 'notes', title: 'Notes', version: '1.2.0', manifestVersion: '0.3', type: 'node' },
  ...{
    bytes: 48_213,
    unpackedBytes: 163_840,
    signature: 'none',
    usable: true,
    servers: [],
    usedAt: '2026-11-24T09:30:00.000Z',
  },
  inputs: [{ name: 'token', label: 'Token', required: true, secret: true, format: 'string', many: false }],
  tools: [{ name: 'find_note' }],
}

const install = z
  .strictObject({
    name: z.string().min(1).max(64).optional().meta({ description: 'Of the server; default the bundle’s own' }),
    inputs: z.record(z.string().max(128), value).optional(),
    network: z.enum(['none', 'proxy']).optional().meta({ description: 'Default `none`; `proxy` as you were granted' }),
    start: z.boolean().optional().meta({ description: 'Switches the server on. Default false' }),
    planHash: z
      .string()
      .length(64)
      .optional()
      .meta({ description: 'From `?dryRun=true`; without it nothing is installed' }),
  })
  .meta({ examples: [{ name: 'notes', inputs: { token: 't0k3n' }, planHash: '0'.repeat(64) }] })

const plan = z.looseObject({
  argv: z.array(z.string()).meta({ description: 'The words of the command; secrets stand as variables of the server' }),
  env: z.array(z.string()),
  headers: z.array(z.string()),
  missing: z.array(z.string()),
  warnings: z.array(z.string()),
  permissions: z.looseObject({ runs: z.boolean() }),
  planHash: z.string(),
})

const planExample = {
  ...{ argv: ['node', '/opt/package/server/index.js'], env: ['TOKEN'], headers: [], missing: [], warnings: [] },
  ...{ permissions: { runs: true, network: 'none', hosts: [], files: 'own', secrets: ['TOKEN'] } },
  planHash: '0'.repeat(64),
}

/** Bundles of servers (MCPB): sending, listing, removing, installing them. */
export function bundleRoutes(deps: BundleRoutesDeps): Route[] {
  return [sendRoute(deps), ...ownRoutes(deps), installRoute(deps)]
}

function sendRoute({ bundles, registry }: BundleRoutesDeps): Route {
  return route({
    method: 'POST',
    path: base,
    access: 'user',
    summary: 'Send a bundle (.mcpb, .dxt) as the raw body, to install it then',
    tag,
    rawBody: LIMITS.bundleBytes,
    responses: { 201: { description: 'What its manifest says', schema: bundle, example } },
    async handle({ actor, readBody, signal, info }) {
      const content = await readBody().catch((error: unknown) => {
        if (!(error instanceof HubError) || error.code !== 'body_too_large') throw error
        throw new HubError('bundle_too_large', `The bundle has more than ${LIMITS.bundleBytes} bytes`)
      })
      const made = await bundles.add(actor, content, signal)
      note(registry, actor, info, 'bundle.send', made)
      return { status: 201, body: shown(made), headers: { location: `${info.baseUrl}${base}/${made.id}` } }
    },
  })
}

function ownRoutes({ bundles, registry }: BundleRoutesDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: base,
      access: 'user',
      summary: 'Your bundles, the last used first',
      tag,
      query: pageQuery,
      responses: { 200: { description: 'A page of bundles', schema: listOf(bundle), example: exampleList(example) } },
      async handle({ actor, query }) {
        return { body: page((await bundles.list(actor)).map(shown), query) }
      },
    }),
    route({
      method: 'GET',
      path: `${base}/{id}`,
      access: 'user',
      summary: 'One of your bundles',
      tag,
      params: idParams,
      responses: { 200: { description: 'The bundle', schema: bundle, example } },
      async handle({ actor, params: { id } }) {
        return { body: shown(await bundles.get(actor, id)) }
      },
    }),
    route({
      method: 'DELETE',
      path: `${base}/{id}`,
      access: 'user',
      summary: 'Remove a bundle that no server of yours runs',
      tag,
      params: idParams,
      responses: { 204: { description: 'It is gone' } },
      async handle({ actor, params: { id }, info }) {
        const found = await bundles.get(actor, id)
        await bundles.remove(actor, id)
        note(registry, actor, info, 'bundle.remove', found)
        return { status: 204 }
      },
    }),
  ]
}

function installRoute(deps: BundleRoutesDeps): Route {
  const { bundles, registry } = deps
  return route({
    method: 'POST',
    path: `${base}/{id}/install`,
    access: 'user',
    summary: 'Install a bundle as a server of your own; with `dryRun=true` only say what it would do',
    tag,
    params: idParams,
    query: plannedQuery,
    body: install,
    responses: {
      200: { description: 'What it would do', schema: plan, example: planExample },
      201: { description: 'The server', schema: server, example: exampleServer },
    },
    async handle({ actor, params: { id }, query, body, info }) {
      const { inputs = {}, start = false, planHash, name, network } = body
      const request = { id, name, inputs, start, network }
      const wanted = { actor, query, planHash, inputs: request }
      return plannedReply(bundles.installation, wanted, {
        done(made) {
          noteChange(registry.audit, actor, info, 'server.create', made, { bundle: id })
          const address = `${info.baseUrl}/api/servers/${encodeURIComponent(qualified(made))}`
          return recordReply(serverView(deps, actor, made), 201, address)
        },
      })
    },
  })
}

function shown({ id, manifest, signed, bytes, unpackedBytes, servers, usedAt }: StoredBundle): object {
  const { name, display_name: title = name, version, description, author, homepage, license } = manifest
  const why = unusable(manifest, process.platform)
  return {
    ...{ bundleId: id, name, title, version },
    ...(description === undefined ? {} : { description }),
    ...(author ? { publisher: author.name } : {}),
    ...(homepage?.startsWith('https://') ? { homepage } : {}),
    ...(license === undefined ? {} : { license }),
    manifestVersion: manifest.manifest_version ?? manifest.dxt_version ?? '',
    ...{ type: manifest.server.type, bytes, unpackedBytes, signature: signed ? 'not-checked' : 'none' },
    ...{ usable: why === undefined, ...(why === undefined ? {} : { why }) },
    ...{ inputs: inputsOf(manifest), tools: manifest.tools ?? [], servers, usedAt },
  }
}

function note(
  { audit }: BundleRoutesDeps['registry'],
  actor: UserActor,
  request: RequestInfo,
  action: string,
  { id, manifest }: StoredBundle,
): void {
  const detail = { bundle: id, version: manifest.version.slice(0, 64) }
  audit.record(actor, { action, target: manifest.name, ownerId: actor.userId, request, detail })
}
