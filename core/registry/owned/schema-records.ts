import type { FileEntry, FileRecords } from '../../config/shape/sections.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { Actor } from '../../contract/records.ts'
import { ANSWERED_FIELDS, Fields } from '../../domain/json/fields.ts'
import { checkName, isNameProblem } from '../../domain/names.ts'
import { addressesIn, refuseMovedSecrets } from '../../domain/server/moved-secrets.ts'
import { validationError } from '../../domain/validation-error.ts'
import type { OwnedRecord } from '../../features/services/owned-records.ts'
import type { Sealer } from '../../secrets/seal.ts'
import type { Store } from '../../store/open.ts'
import { read, write } from '../../store/transact.ts'
import { fileOwner, type Owner, ownerOf } from '../owners.ts'
import { pluginSealing, type RecordKind } from '../record-kinds.ts'
import { type Mirrored, mirrorOwned } from './mirror.ts'
import type { MovingRecords } from './moving.ts'
import type { OwnedRecords } from './records.ts'
import { keptMasks, masksOf, type Secrets, secretsIn, unmasked, withoutSecrets, withSecrets } from './secret-fields.ts'
import { activeSettings, type OwnedSetting, OwnedSettings, type Prepare, settingView } from './settings.ts'

/** Member of an answer that the kind adds, and that a body may repeat. */
export const SHOWN = 'status'

/** A kind whose records are a name and fields of one schema. */
export interface SchemaKind {
  readonly kind: RecordKind
  /** JSON Pointers of the fields that are sealed; `*` stands for any member. */
  readonly secrets: readonly string[]
  /** Returns the fields as they are stored. Throws `validation_failed`. */
  check(fields: JsonObject, owner: Owner): JsonObject
  /** Returns more about a record for its answers. */
  show?(record: OwnedRecord<JsonObject>): JsonObject
  /** Runs before a record is removed by a request. */
  removing?(record: OwnedRecord<JsonObject>): void | Promise<void>
  /** Runs after each change. */
  changed(): void
}

/** The records of one kind. */
export interface SchemaRecords {
  readonly requests: OwnedRecords
  /** Records of users whose accounts are not disabled, with their secrets. */
  active(userId?: string): Promise<readonly OwnedRecord<JsonObject>[]>
  moving(store: Store): MovingRecords
  /** Stores the entries of the settings file for the owner of its entries, as `mirrorOwned` does. */
  mirror(file: FileRecords): Promise<Mirrored>
}

const FILE: Actor = { kind: 'system', purpose: 'settings file' }

/** Stores the records of one kind. */
export function schemaRecords(store: Store, sealer: Sealer, of: SchemaKind): SchemaRecords {
  const { kind } = of
  const body = new SchemaBody(of, sealer)
  const settings = new OwnedSettings(store, kind, of.changed)
  const requests: OwnedRecords = {
    list: async (actor, owner) => (await settings.list(actor, owner)).map(one => body.view(one)),
    get: async (actor, ref) => body.view(await settings.get(actor, ref)),
    create: async (actor, wanted) => body.view(await settings.create(actor, undefined, body.prepare(actor, wanted))),
    replace: async (actor, ref, wanted, options) =>
      body.view(await settings.replace(actor, ref, body.prepare(actor, wanted), options)),
    async remove(actor, ref) {
      if (of.removing) {
        const gone = await settings.get(actor, ref)
        if (gone.origin !== 'file') await of.removing(body.record(gone))
      }
      await settings.remove(actor, ref, async () => undefined)
    },
  }
  return {
    requests,
    active: async ownerId =>
      (await read(store, db => activeSettings(db, kind, { ownerId }))).map(one => body.record(one)),
    moving(joined) {
      const moved = new OwnedSettings(joined, kind, of.changed)
      return {
        kind,
        settings: moved,
        open: async (setting, keep) => body.moving(setting, keep),
        prepare: async (actor, _owner, wanted) => body.prepare(actor, wanted),
        remove: (actor, ref) => moved.remove(actor, ref, async () => undefined),
      }
    },
    async mirror(file) {
      const entries = file.get(kind.kind) ?? []
      const mirrored = await write(store, async trx => {
        const owner = ownerOf(await fileOwner(trx))
        const prepare = (entry: FileEntry): Prepare => body.prepare(FILE, entry.body)
        return mirrorOwned(trx, owner, { kind, entries, prepare, secrets: one => body.secrets(one) })
      })
      if (mirrored.changed) of.changed()
      return mirrored
    },
  }
}

/** Bodies of one kind: as they are sent, stored and answered. */
class SchemaBody {
  readonly #of: SchemaKind
  readonly #sealer: Sealer
  /** Members of a body that are not fields of the schema. */
  readonly #around: ReadonlySet<string>

  constructor(of: SchemaKind, sealer: Sealer) {
    this.#of = of
    this.#sealer = sealer
    this.#around = new Set(['name', SHOWN, ...ANSWERED_FIELDS, ...(of.kind.acts ? ['enabled'] : [])])
  }

  /**
   * Prepares a body for the store. A masked secret keeps the stored value for its owner only, and a changed address is checked by
   * {@link refuseMovedSecrets}. Throws `validation_failed`.
   */
  prepare(actor: Actor, wanted: JsonObject): Prepare {
    const { kind, secrets: patterns, check } = this.#of
    return (owner, place, before) => {
      const isOwn = actor.kind === 'user' && actor.userId === owner.id
      const stored = isOwn && before ? this.secrets(before) : {}
      const fields = new Fields(wanted)
      const name = readName(fields)
      const enabled = kind.acts ? { enabled: fields.boolean('enabled') ?? true } : {}
      const given = this.#fieldsOf(wanted)
      const whole = unmasked(given, { patterns, stored }, fields.errors)
      if (fields.errors.length > 0 || name === undefined)
        throw validationError(fields.errors, `The ${kind.label} cannot be saved`)
      const checked = check(whole, owner)
      if (before) {
        const moved = addressesIn(checked) !== addressesIn(withSecrets(this.#fieldsOf(before.body), stored))
        refuseMovedSecrets(actor, { kept: keptMasks(given, stored), moved, isOwn: true }, Date.now())
      }
      const secrets = secretsIn(checked, patterns)
      return {
        name,
        body: { name, ...enabled, ...withoutSecrets(checked, secrets) },
        secrets: Object.keys(secrets).length === 0 ? null : this.#seal(secrets, place),
        hidden: keptMasks(given, stored).length > 0,
      }
    }
  }

  view(setting: OwnedSetting): JsonObject {
    const { show } = this.#of
    const shown = withSecrets(setting.body, masksOf(this.secrets(setting)))
    return settingView(setting, { ...shown, ...(show ? { [SHOWN]: show(this.record(setting)) } : {}) })
  }

  record(setting: OwnedSetting): OwnedRecord<JsonObject> {
    const { id, owner, name, revision, body } = setting
    const fields = withSecrets(this.#fieldsOf(body), this.secrets(setting))
    const { id: ownerId, name: ownerName, role } = owner
    return {
      id,
      owner: { id: ownerId, name: ownerName, role },
      name,
      enabled: body.enabled !== false,
      fields,
      revision,
    }
  }

  /** The body with what `keep` gives in the place of each secret. */
  moving(setting: OwnedSetting, keep: (secret: string, pointer: string) => string): JsonObject {
    const kept = Object.entries(this.secrets(setting)).map(([at, text]) => [at, keep(text, at)])
    return withSecrets(setting.body, Object.fromEntries(kept))
  }

  secrets({ id, owner, secrets }: OwnedSetting): Secrets {
    if (secrets === null) return {}
    const { purpose, field } = this.#sealing
    return JSON.parse(this.#sealer.open(purpose, { owner: owner.id, record: id, field }, secrets)) as Secrets
  }

  #seal(secrets: Secrets, place: { readonly owner: string; readonly record: string }): string {
    const { purpose, field } = this.#sealing
    return this.#sealer.seal(purpose, { ...place, field }, JSON.stringify(secrets))
  }

  get #sealing() {
    return pluginSealing(this.#of.kind.kind)
  }

  #fieldsOf(body: JsonObject): JsonObject {
    return Object.fromEntries(Object.entries(body).filter(([name]) => !this.#around.has(name)))
  }
}

function readName(fields: Fields): string | undefined {
  if (!fields.required('name')) return undefined
  const checked = checkName('alias', fields.raw('name'))
  if (!isNameProblem(checked)) return checked.name
  return fields.problem('name', checked.code, checked.detail.replace('alias name', 'name'))
}
