import { definePlugin, HubError, type PluginContext, type ServerRecord, type UserActor } from 'patchbay/contract'
import type { HeaderProvider } from 'patchbay/features'
import { z } from 'zod'
import { BUILT_IN, type HostedPlatform, platformOf } from './platforms.ts'

const name = z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/)
const host = z
  .string()
  .regex(/^\.?(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/i)
const config = z.strictObject({
  /** Further platforms, and replacements of built-in ones. */
  platforms: z
    .record(
      name,
      z.strictObject({
        label: z
          .string()
          .min(1)
          .max(64)
          .meta({
            title: 'Name',
            description: 'As people see it.',
            'x-zh': { title: '名称', description: '显示的名称。' },
          }),
        hosts: z
          .array(host)
          .min(1)
          .max(32)
          .meta({
            title: 'Hosts',
            description: 'Exact names; one that begins with a dot stands for all below it.',
            'x-zh': { title: '主机', description: '完整的主机名；以点开头的代表其下所有主机。' },
          }),
        docs: z
          .url({ protocol: /^https$/ })
          .optional()
          .meta({
            title: 'Where to find the key',
            description: 'A page at which its user finds it.',
            'x-zh': { title: '密钥说明页', description: '用户可以找到密钥的页面。' },
          }),
      }),
    )
    .default({})
    .meta({
      ...{ title: 'Platforms', description: 'Further platforms, and others in place of the built-in ones.' },
      'x-zh': { title: '平台', description: '更多平台，以及用来替换内置平台的平台。' },
    }),
  /** The hub's own key of a platform, for owners of servers without one. */
  keys: z
    .record(name, z.string().regex(/^[\x21-\x7e]{1,8192}$/))
    .default({})
    .meta({
      ...{ title: 'Keys of the hub', description: 'For owners of servers who have no key of the platform themselves.' },
      'x-zh': { title: 'hub 的密钥', description: '用于没有该平台自己密钥的服务器所有者。' },
    }),
})
/** Longest time for a platform's answer to the test of a key, in milliseconds. */
const TEST_MS = 10_000
const TRANSPORTS: ReadonlySet<string> = new Set(['sse', 'streamable-http'])

type Config = z.infer<typeof config>
type Asked = Parameters<HeaderProvider['headersFor']>[0]

/** Gives servers at hosted platforms the key of their owner. */
export default definePlugin<Config>({
  name: 'hosted-keys',
  contract: 1,
  config,
  setup(context) {
    const keys = new HostedKeys(context)
    context.contribute('headerProvider', 'hosted-keys', {
      redirects: 'none',
      headersFor: server => keys.headersFor(server),
    })
    context.contribute('routes', 'platforms', {
      path: 'platforms',
      access: 'user',
      fetch: async (_, actor) => Response.json({ items: await keys.platformsFor(actor as UserActor) }),
    })
    context.contribute('routes', 'test', {
      path: 'test',
      access: 'user',
      async fetch(request, actor) {
        if (request.method !== 'POST') throw new HubError('method_not_allowed', 'A key is tested by POST')
        return Response.json(await keys.test(actor as UserActor, await request.json().catch(() => undefined)))
      },
    })
    return undefined
  },
})

class HostedKeys {
  readonly #context: PluginContext<Config>
  readonly #testing = new Set<string>()
  readonly #platforms: Readonly<Record<string, HostedPlatform>>
  readonly #warned = new Set<string>()

  constructor(context: PluginContext<Config>) {
    this.#context = context
    this.#platforms = { ...BUILT_IN, ...(context.config.platforms as typeof BUILT_IN) }
  }

  async headersFor({ ownerId, transport, url }: Asked): Promise<Readonly<Record<string, string>>> {
    const platform = this.#platformOf(transport, url)
    if (platform === undefined) return {}
    const key = (await this.#keyOf(ownerId, platform)) ?? this.#context.config.keys[platform]
    return key === undefined ? {} : { authorization: `Bearer ${key}` }
  }

  /** The platforms, the origin of the actor's key for each, and the actor's servers there. */
  async platformsFor(actor: UserActor) {
    const servers = await this.#context.registry.ownServers(actor)
    return Promise.all(
      Object.entries(this.#platforms).map(async ([name, platform]) => {
        const there = servers.filter(
          ({ transport, config: { url } }) => typeof url === 'string' && this.#platformOf(transport, url) === name,
        )
        const namesOf = (isManual: boolean): readonly string[] =>
          there.filter(server => hasAuthorization(server) === isManual).map(server => server.name)
        const shown = await this.#context.secrets.user(actor.userId, name).describe()
        const key = { from: await this.#sourceOf(actor.userId, name), ...shown }
        return { name, ...platform, key, servers: namesOf(false), overridden: namesOf(true) }
      }),
    )
  }

  /**
   * Connects to one of the actor's own servers at the platform, with its key. Of the response only the status is reported.
   * Throws `validation_failed`, and `rate_limited` while another test of the actor runs.
   */
  async test(actor: UserActor, body: unknown) {
    const { data } = z.strictObject({ platform: name }).safeParse(body)
    if (!data || !Object.hasOwn(this.#platforms, data.platform))
      throw new HubError('validation_failed', 'A body such as {"platform": "modelscope"} is wanted', {
        errors: [{ pointer: '#/platform', code: 'enum', detail: `One of ${Object.keys(this.#platforms).join(', ')}` }],
      })
    if (this.#testing.has(actor.userId)) throw new HubError('rate_limited', 'Another key is being tested')
    this.#testing.add(actor.userId)
    try {
      return await this.#tested(actor, data.platform)
    } finally {
      this.#testing.delete(actor.userId)
    }
  }

  async #tested(actor: UserActor, platform: string) {
    const servers = await this.#context.registry.ownServers(actor)
    const server = servers.find(
      candidate =>
        typeof candidate.config.url === 'string' &&
        this.#platformOf(candidate.transport, candidate.config.url) === platform &&
        !hasAuthorization(candidate),
    )
    const url = server?.config.url
    const key = (await this.#keyOf(actor.userId, platform)) ?? this.#context.config.keys[platform]
    if (!server || typeof url !== 'string')
      return { platform, ok: false, code: 'no_server', detail: 'You have no server there' }
    if (key === undefined)
      return { platform, server: server.name, ok: false, code: 'no_key', detail: 'There is no key' }
    try {
      const response = await this.#context.fetch(url, opening(server.transport, key))
      response.cancel()
      const { status } = response
      const isRefused = status === 401 || status === 403
      const detail = isRefused ? 'The platform refuses the key' : `The platform answered with HTTP ${status}`
      const code = isRefused ? 'key_refused' : 'answered'
      return { platform, server: server.name, ok: status < 300, code, status, detail }
    } catch (error) {
      if (!(error instanceof HubError)) throw error
      return { platform, server: server.name, ok: false, code: error.code, detail: error.message }
    }
  }

  /** The key that a user has stored for a platform. */
  #keyOf(userId: string, platform: string): Promise<string | undefined> {
    return this.#context.secrets.user(userId, platform).open()
  }

  async #sourceOf(userId: string, platform: string): Promise<'own' | 'system' | 'none'> {
    if ((await this.#keyOf(userId, platform)) !== undefined) return 'own'
    return this.#context.config.keys[platform] === undefined ? 'none' : 'system'
  }

  #platformOf(transport: string, url: string): string | undefined {
    const found = TRANSPORTS.has(transport) ? platformOf(this.#platforms, url) : undefined
    if (!found || 'name' in found) return found?.name
    const claimed = found.claimedBy.join(', ')
    if (!this.#warned.has(claimed))
      this.#context.log.warn('A host is listed for several platforms; its servers get no key', { claimed })
    this.#warned.add(claimed)
    return undefined
  }
}

/** The first request of a client, as each transport sends it. */
function opening(transport: string, key: string): Parameters<PluginContext<Config>['fetch']>[1] {
  const common = { headTimeoutMs: TEST_MS, idleTimeoutMs: TEST_MS, maxBytes: 64 * 1024 }
  const authorization = `Bearer ${key}`
  if (transport === 'sse') return { ...common, method: 'GET', headers: { authorization, accept: 'text/event-stream' } }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'patchbay', version: '1' } }
  return {
    ...{ ...common, method: 'POST' },
    headers: { authorization, accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  }
}

function hasAuthorization({ config: { headers } }: Pick<ServerRecord, 'config'>): boolean {
  return Object.keys(headers ?? {}).some(header => header.toLowerCase() === 'authorization')
}
