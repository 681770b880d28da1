import type { PluginRoutes, UserActor } from 'patchbay/contract'
import type { AuditedRequest, PluginAudit, PluginServers } from 'patchbay/features'
import { exampleList, flag, formatRef, listOf, pageQuery, timestamp } from 'patchbay/plugin-kit'
import { z } from 'zod'
import type { Bundles } from './create.ts'
import { bundleError } from './errors.ts'
import { inputsOf } from './inputs.ts'
import { unusable } from './manifest.ts'
import type { StoredBundle } from './store.ts'
import type { BundleLimits } from './types.ts'

/** Dependencies of the routes of bundles. */
export interface BundleRoutesDeps {
  readonly bundles: Bundles
  readonly servers: PluginServers
  readonly audit: PluginAudit
  readonly limits: BundleLimits
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

/** Adds the routes to send, list, remove and install bundles. */
export function addBundleRoutes(routes: PluginRoutes, deps: BundleRoutesDeps): void {
  addSendRoute(routes, deps)
  addOwnRoutes(routes, deps)
  addInstallRoute(routes, deps)
}

function addSendRoute(routes: PluginRoutes, { bundles, audit, limits }: BundleRoutesDeps): void {
  const { bundleBytes } = limits
  routes.add({
    whole: true,
    method: 'POST',
    path: base,
    access: 'user',
    summary: 'Send a bundle (.mcpb, .dxt) as the raw body, to install it then',
    tag,
    rawBody: bundleBytes,
    tooLarge: () => bundleError('bundle_too_large', `The bundle has more than ${bundleBytes} bytes`),
    answers: { 201: { description: 'What its manifest says', schema: bundle, example } },
    async handle({ actor, bytes, signal, baseUrl, ...caller }) {
      const made = await bundles.add(actor, bytes, signal)
      note(audit, actor, caller, 'send', made)
      return { status: 201, body: shown(made), headers: { location: `${baseUrl}${base}/${made.id}` } }
    },
  })
}

function addOwnRoutes(routes: PluginRoutes, { bundles, audit }: BundleRoutesDeps): void {
  routes.add({
    whole: true,
    method: 'GET',
    path: base,
    access: 'user',
    summary: 'Your bundles, the last used first',
    tag,
    query: pageQuery,
    answers: { 200: { description: 'A page of bundles', schema: listOf(bundle), example: exampleList(example) } },
    async handle({ actor, query: { limit, offset } }) {
      const all = (await bundles.list(actor)).map(shown)
      return { body: { items: all.slice(offset, offset + limit), total: all.length, limit, offset } }
    },
  })
  routes.add({
    whole: true,
    method: 'GET',
    path: `${base}/{id}`,
    access: 'user',
    summary: 'One of your bundles',
    tag,
    params: idParams,
    answers: { 200: { description: 'The bundle', schema: bundle, example } },
    async handle({ actor, params: { id } }) {
      return { body: shown(await bundles.get(actor, id)) }
    },
  })
  routes.add({
    whole: true,
    method: 'DELETE',
    path: `${base}/{id}`,
    access: 'user',
    summary: 'Remove a bundle that no server of yours runs',
    tag,
    params: idParams,
    answers: { 204: { description: 'It is gone' } },
    async handle({ actor, params: { id }, ...caller }) {
      const found = await bundles.get(actor, id)
      await bundles.remove(actor, id)
      note(audit, actor, caller, 'remove', found)
      return { status: 204 }
    },
  })
}

function addInstallRoute(routes: PluginRoutes, { bundles, servers }: BundleRoutesDeps): void {
  routes.add({
    whole: true,
    method: 'POST',
    path: `${base}/{id}/install`,
    access: 'user',
    summary: 'Install a bundle as a server of your own; with `dryRun=true` only say what it would do',
    tag,
    params: idParams,
    query: z.strictObject({ dryRun: flag }),
    body: install,
    answers: {
      200: { description: 'What it would do', schema: plan, example: planExample },
      201: { description: 'The server', of: 'server' },
    },
    async handle({ actor, params: { id }, query, body, baseUrl, requestId, clientAddress }) {
      const { inputs = {}, start = false, planHash, name, network } = body
      const request = { id, name, inputs, start, network, request: { requestId, clientAddress } }
      if (query.dryRun === 'true') return { body: await bundles.installation.plan(actor, request) }
      const made = await bundles.installation.apply(actor, planHash, request)
      const location = `${baseUrl}/api/servers/${encodeURIComponent(formatRef(made.ownerName, made.name))}`
      return { status: 201, body: servers.view(actor, made), headers: { etag: `"${made.revision}"`, location } }
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
  audit: PluginAudit,
  actor: UserActor,
  { requestId, clientAddress }: AuditedRequest,
  word: 'send' | 'remove',
  { id, manifest }: StoredBundle,
): void {
  const detail = { bundle: id, version: manifest.version.slice(0, 64) }
  const said = { action: `bundle.${word}`, detail, request: { requestId, clientAddress } }
  audit(actor, word, manifest.name, actor.userId, said)
}
