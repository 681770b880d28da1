import { LIMITS } from '../config/limits.ts'
import { type FileEntry, type FileRecords, listed } from '../config/shape/sections.ts'
import { HubError } from '../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import type { Actor } from '../contract/records.ts'
import { BUILT_IN, type Dashboard, parseDashboard } from '../domain/dashboards/dashboard-body.ts'
import type { WriteOptions } from '../registry/api.ts'
import { type Mirrored, mirrorOwned } from '../registry/owned/mirror.ts'
import type { MovingRecords } from '../registry/owned/moving.ts'
import type { OwnedRecords } from '../registry/owned/records.ts'
import { type OwnedSetting, OwnedSettings, type Prepare, settingView } from '../registry/owned/settings.ts'
import { fileOwner, ownerOf } from '../registry/owners.ts'
import type { RecordKind } from '../registry/record-kinds.ts'
import type { Store } from '../store/open.ts'
import { write } from '../store/transact.ts'

/** The kind of dashboards. */
export const DASHBOARDS: RecordKind = {
  ...{ kind: 'dashboard', label: 'dashboard', missing: 'dashboard_not_found', quota: 'quota_dashboards' },
  most: LIMITS.dashboardsPerUser,
  fileSection: 'dashboards',
  file: { keys: ['dashboards', 'dashboard'], read: dashboardsIn },
  fromHub: { what: 'dashboards', instead: 'POST /api/monitoring/dashboards makes them.' },
  acts: false,
  moved: { section: 'dashboards', offUnlessSeen: false, offOnRequest: false },
}

/** Reads a section of the settings file: a list of dashboards, or one. */
function dashboardsIn(section: JsonValue, at: string, warnings: string[]): readonly FileEntry[] {
  if (isJsonObject(section)) return [{ pointer: at, body: section }]
  if (Array.isArray(section)) return listed(section, at, 'dashboard')
  warnings.push(`${at} is neither a dashboard nor a list of dashboards; it is not used`)
  return []
}

/** Dashboards: those of the hub, which everybody has, and users' own. */
export class Dashboards implements OwnedRecords {
  readonly #store: Store
  readonly #own: OwnedSettings

  constructor(store: Store) {
    this.#store = store
    this.#own = new OwnedSettings(store, DASHBOARDS, () => undefined)
  }

  /** The hub's first, then the actor's own by name. */
  async list(actor: Actor, ownerName?: string): Promise<readonly JsonObject[]> {
    return [...BUILT_IN.map(builtInView), ...(await this.#own.list(actor, ownerName)).map(view)]
  }

  async get(actor: Actor, ref: string): Promise<JsonObject> {
    const builtIn = builtInOf(ref)
    return builtIn ? builtInView(builtIn) : view(await this.#own.get(actor, ref))
  }

  async create(actor: Actor, body: JsonObject): Promise<JsonObject> {
    return view(await this.#own.create(actor, undefined, prepare(body)))
  }

  async replace(actor: Actor, ref: string, body: JsonObject, options?: WriteOptions): Promise<JsonObject> {
    refuseBuiltIn(ref)
    return view(await this.#own.replace(actor, ref, prepare(body), options))
  }

  async remove(actor: Actor, ref: string): Promise<void> {
    refuseBuiltIn(ref)
    await this.#own.remove(actor, ref, async () => undefined)
  }

  /** Number of the actor's own dashboards. */
  async count(actor: Actor): Promise<number> {
    return (await this.#own.list(actor)).length
  }

  /** Makes the dashboards of the settings file those of the owner of the file's entries, as `mirrorOwned` does. */
  mirror(file: FileRecords): Promise<Mirrored> {
    const entries = file.get(DASHBOARDS.kind) ?? []
    return write(this.#store, async trx => {
      const owner = ownerOf(await fileOwner(trx))
      const secrets = () => ({})
      return mirrorOwned(trx, owner, { kind: DASHBOARDS, entries, prepare: ({ body }) => prepare(body), secrets })
    })
  }
}

/** Users' own dashboards as they move between hubs. */
export function movingDashboards(store: Store): MovingRecords {
  const settings = new OwnedSettings(store, DASHBOARDS, () => undefined)
  return {
    kind: DASHBOARDS,
    settings,
    open: async ({ body }) => body,
    prepare: async (_actor, _owner, body) => prepare(body),
    remove: (actor, ref) => settings.remove(actor, ref, async () => undefined),
  }
}

function prepare(body: JsonObject): Prepare {
  const { name, widgets } = parseDashboard(body)
  return () => ({ name, body: { name, widgets } as unknown as JsonObject, secrets: null })
}

function builtInOf(ref: string): Dashboard | undefined {
  return BUILT_IN.find(({ name }) => name === ref)
}

function refuseBuiltIn(ref: string): void {
  if (!builtInOf(ref)) return
  throw new HubError('setting_locked', `"${ref}" is a dashboard of the hub itself`, {
    hint: 'Make one of your own with its widgets, under another name.',
  })
}

function builtInView(dashboard: Dashboard): JsonObject {
  return { ref: dashboard.name, ...(dashboard as unknown as JsonObject), builtIn: true }
}

function view(setting: OwnedSetting): JsonObject {
  return { ...settingView(setting, setting.body), builtIn: false }
}
