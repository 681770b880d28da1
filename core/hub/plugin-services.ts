import type { Alerts } from '../alerts/create.ts'
import type { Auth } from '../auth/create.ts'
import type { HubConfig } from '../config/schema.ts'
import type { Upstreams } from '../connections/api.ts'
import type { Role } from '../contract/records.ts'
import { type AddressRights, addressRights } from '../domain/address.ts'
import type { ServerTemplates } from '../features/templates.ts'
import { publicBase } from '../http/guard.ts'
import type { McpEndpoint } from '../mcp/api.ts'
import type { HubServices } from '../plugin-host/services/services.ts'
import type { Registry } from '../registry/api.ts'
import type { Store } from '../store/open.ts'

interface Parts
  extends Pick<
    HubServices,
    'calls' | 'dataDir' | 'variable' | 'systemSettings' | 'instanceId' | 'formerPlaces' | 'sealer' | 'kinds'
  > {
  readonly store: Store
  readonly auth: Auth
  readonly registry: Registry
  readonly config: Pick<HubConfig, 'outboundAllow' | 'outboundProxy' | 'host' | 'publicUrl' | 'basePath'>
}

/** The parts of the hub that plugins use. Plugins start before some of them exist. */
export class PluginServices implements HubServices {
  readonly #parts: Parts
  connections: Upstreams | undefined
  endpoint: McpEndpoint | undefined
  alerts: Alerts | undefined
  plans: ReturnType<HubServices['planning']>
  templates: () => ServerTemplates | undefined = () => undefined
  /** The address at which the hub listens. */
  listens = ''

  constructor(parts: Parts) {
    this.#parts = parts
  }

  get store(): Store {
    return this.#parts.store
  }

  get auth(): Auth {
    return this.#parts.auth
  }

  get calls(): HubServices['calls'] {
    return this.#parts.calls
  }

  get sealer(): HubServices['sealer'] {
    return this.#parts.sealer
  }

  get kinds(): HubServices['kinds'] {
    return this.#parts.kinds
  }

  get registry(): Registry {
    return this.#parts.registry
  }

  get settings(): Registry['settings'] {
    return this.#parts.registry.settings
  }

  get dataDir(): string {
    return this.#parts.dataDir
  }

  get isLocal(): boolean {
    return /^(?:localhost|127(?:\.\d+){3}|::1|\[::1\])$/i.test(this.#parts.config.host)
  }

  get formerPlaces(): HubServices['formerPlaces'] {
    return this.#parts.formerPlaces
  }

  get instanceId(): string {
    return this.#parts.instanceId
  }

  readonly systemSettings = () => this.#parts.systemSettings()
  readonly variable = (name: string): string | undefined => this.#parts.variable(name)
  readonly upstreams = (): Upstreams | undefined => this.connections
  readonly mcp = (): McpEndpoint | undefined => this.endpoint
  readonly notices = (): Alerts | undefined => this.alerts
  readonly planning = (): ReturnType<HubServices['planning']> => this.plans
  readonly address = (): string => {
    const { publicUrl, basePath } = this.#parts.config
    return publicUrl === undefined ? this.listens : publicBase(publicUrl, basePath)
  }
  readonly addresses = (role: Role): AddressRights => addressRights(this.#parts.config, role === 'admin')
}
