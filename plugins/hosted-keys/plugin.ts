import {
  definePlugin,
  type HeaderProvider,
  type PluginContext,
  type PluginDefinition,
  type ServerRecord,
  type UserActor,
} from 'patchbay/contract'
import { z } from 'zod'
import { BUILT_IN, type HostedPlatform, platformOf } from './platforms.ts'

const name = z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/)
const host = z
  .string()
  .regex(/^\.?(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/i)
const config = z.strictObject({
  /** Further platforms, and others in place of the built-in ones. */
  platforms: z
    .record(
      name,
      z.strictObject({
        label: z.string().min(1).max(64),
        hosts: z.array(host).min(1).max(32),
        docs: z.url({ protocol: /^https$/ }).optional(),
      }),
    )
    .default({}),
  /** The hub's own key of a platform, for owners of servers without one. */
  keys: z.record(name, z.string().regex(/^[\x21-\x7e]{1,8192}$/)).default({}),
})
const TRANSPORTS: ReadonlySet<string> = new Set(['sse', 'streamable-http'])

/** What core lends this plugin alone. */
export interface HostedKeysDeps {
  /** The key that a user has stored for a platform. */
  readonly keyOf: (userId: string, platform: string) => Promise<string | undefined>
}

type Config = z.infer<typeof config>
type Asked = Parameters<HeaderProvider['headersFor']>[0]

/** Gives servers at hosted platforms the key of their owner. */
export default function hostedKeys(deps: HostedKeysDeps): PluginDefinition<Config> {
  return definePlugin<Config>({
    name: 'hosted-keys',
    contract: 1,
    config,
    setup(context) {
      const keys = new HostedKeys(context, deps)
      context.contribute('headerProvider', 'hosted-keys', {
        redirects: 'none',
        headersFor: server => keys.headersFor(server),
      })
      context.contribute('routes', 'platforms', {
        path: 'platforms',
        access: 'user',
        fetch: async (_, actor) => Response.json({ items: await keys.platformsFor(actor as UserActor) }),
      })
      return undefined
    },
  })
}

class HostedKeys {
  readonly #context: PluginContext<Config>
  readonly #keyOf: HostedKeysDeps['keyOf']
  readonly #platforms: Readonly<Record<string, HostedPlatform>>
  readonly #warned = new Set<string>()

  constructor(context: PluginContext<Config>, { keyOf }: HostedKeysDeps) {
    this.#context = context
    this.#keyOf = keyOf
    this.#platforms = { ...BUILT_IN, ...(context.config.platforms as typeof BUILT_IN) }
  }

  async headersFor({ ownerId, transport, url }: Asked): Promise<Readonly<Record<string, string>>> {
    const platform = this.#platformOf(transport, url)
    if (platform === undefined) return {}
    const key = (await this.#keyOf(ownerId, platform)) ?? this.#context.config.keys[platform]
    return key === undefined ? {} : { authorization: `Bearer ${key}` }
  }

  /** The platforms, where the actor's key of each comes from, and the actor's servers there. */
  async platformsFor(actor: UserActor) {
    const servers = await this.#context.registry.ownServers(actor)
    return Promise.all(
      Object.entries(this.#platforms).map(async ([name, platform]) => {
        const there = servers.filter(
          ({ transport, config: { url } }) => typeof url === 'string' && this.#platformOf(transport, url) === name,
        )
        const namesOf = (isManual: boolean): readonly string[] =>
          there.filter(server => hasAuthorization(server) === isManual).map(server => server.name)
        const key = { from: await this.#sourceOf(actor.userId, name) }
        return { name, ...platform, key, servers: namesOf(false), overridden: namesOf(true) }
      }),
    )
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

function hasAuthorization({ config: { headers } }: ServerRecord): boolean {
  return Object.keys(headers ?? {}).some(header => header.toLowerCase() === 'authorization')
}
