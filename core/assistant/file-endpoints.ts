import type { FileEntry } from '../config/shape/sections.ts'
import type { FieldError } from '../contract/errors.ts'
import { quoteName } from '../domain/names.ts'
import { validationError } from '../domain/validation-error.ts'
import { type Mirrored, mirrorOwned } from '../registry/owned/mirror.ts'
import { fileOwner, type Owner, ownerOf, userById, userByName } from '../registry/owners.ts'
import type { Store } from '../store/open.ts'
import { type Reader, read, write } from '../store/transact.ts'
import {
  type EndpointTarget,
  type EndpointToken,
  endpointOf,
  type PrepareDeps,
  prepareEndpoint,
  tokenFrom,
  urlOf,
} from './endpoint.ts'
import { ENDPOINTS } from './kind.ts'
import { findTarget, type Things } from './targets.ts'

/** Form of a token of an inbound endpoint in the file. */
const TOKEN = /^[\w.~+/=-]{32,256}$/

/** Dependencies of mirroring endpoints. */
export interface FileEndpointsDeps extends PrepareDeps {
  readonly store: Store
  readonly registry: Things
  readonly hasView: (view: string) => boolean
}

interface Read {
  readonly entry: FileEntry
  readonly owner: Owner
  readonly target: EndpointTarget | undefined
}

/**
 * Mirrors the endpoints of the settings file for the users that they name, or for the owner of the file's entries, as `mirrorOwned`
 * does. An inbound one accepts its `token`; without one, only ASSISTANT_API_KEY.
 */
export async function mirrorEndpoints(deps: FileEndpointsDeps, entries: readonly FileEntry[]): Promise<Mirrored> {
  const { store, sealer } = deps
  const problems: { entry: string; errors: readonly FieldError[] }[] = []
  const found: Read[] = []
  // Before the transaction, which others wait for: finding targets reads by itself.
  for (const entry of entries) {
    const owner = await read(store, db => ownerIn(db, entry))
    if (owner) found.push({ entry, owner, target: await targetOf(deps, owner, entry) })
    else problems.push({ entry: entry.pointer, errors: [unknownOwner(entry)] })
  }
  return write(store, async trx => {
    const rows = await trx
      .selectFrom('owned_setting')
      .select('owner_id')
      .distinct()
      .where('kind', '=', ENDPOINTS.kind)
      .where('origin', '=', 'file')
      .execute()
    const owners = new Map(found.map(({ owner }) => [owner.id, owner]))
    for (const { owner_id: id } of rows) {
      const row = owners.has(id) ? undefined : await userById(trx, id)
      if (row) owners.set(id, ownerOf(row))
    }
    let changed = false
    for (const owner of owners.values()) {
      const its = found.filter(one => one.owner.id === owner.id)
      const mirrored = await mirrorOwned(trx, owner, {
        kind: ENDPOINTS,
        entries: its.map(({ entry }) => entry),
        prepare(entry) {
          const { owner: _owner, token, ...body } = entry.body
          const target = its.find(one => one.entry === entry)?.target
          return prepareEndpoint(body, target, deps, tokenIn(token, body.direction))
        },
        secrets: setting => ({ url: urlOf(setting, sealer) ?? '', token: endpointOf(setting).tokenHash ?? '' }),
      })
      problems.push(...mirrored.problems)
      changed ||= mirrored.changed
    }
    return { problems, changed }
  })
}

async function ownerIn(db: Reader, { body: { owner } }: FileEntry): Promise<Owner | undefined> {
  if (owner === undefined) return ownerOf(await fileOwner(db))
  const row = typeof owner === 'string' ? await userByName(db, owner) : undefined
  return row && ownerOf(row)
}

async function targetOf(
  { registry, hasView }: FileEndpointsDeps,
  owner: Owner,
  { body: { group } }: FileEntry,
): Promise<EndpointTarget | undefined> {
  return typeof group === 'string' ? findTarget(registry, owner, group.replace('::', '~'), hasView) : undefined
}

/** Returns the file's token, and no earlier one: removing it from the file revokes it. */
function tokenIn(token: unknown, direction: unknown): EndpointToken | 'none' {
  if (token === undefined) return 'none'
  if (direction === 'inbound' && typeof token === 'string' && TOKEN.test(token)) return tokenFrom(token)
  const detail = 'Of an inbound endpoint: 32 to 256 letters, digits and -._~+/='
  throw validationError([{ pointer: '#/token', code: 'format', detail }])
}

function unknownOwner({ pointer, body: { owner } }: FileEntry): FieldError {
  const detail = `There is no user ${quoteName(String(owner))} to own it`
  return { pointer: `${pointer}/owner`, code: 'enum', detail }
}
