import type { ServerSettings } from '../contract/records.ts'
import { valueAt } from '../domain/json-pointer.ts'
import { secretParts } from '../secrets/parts.ts'
import type { Redactor } from '../secrets/redact.ts'

/** Trial configurations have no end that the registry hears of; the secrets of the last ones stay known. */
const DRAFTS = 64

/** Which secrets are in use by which server or setting, so that the redactor knows each as long as it lives. */
export class LiveSecrets {
  readonly #redactor: Redactor
  readonly #of = new Map<string, readonly string[]>()
  #drafts = 0

  constructor(redactor: Redactor) {
    this.#redactor = redactor
  }

  /** From now on these are the server's secrets: opened, with variables filled in and not. */
  set(id: string, forms: readonly Pick<ServerSettings, 'config' | 'variables' | 'secrets'>[]): void {
    this.hold(id, new Set(forms.flatMap(secretsIn)))
  }

  /** From now on these are the secrets of whatever goes by this id, in place of those before. */
  hold(id: string, found: ReadonlySet<string>): void {
    for (const secret of found) this.#redactor.add(secret)
    this.delete(id)
    if (found.size > 0) this.#of.set(id, [...found])
  }

  addDraft(forms: readonly Pick<ServerSettings, 'config' | 'variables' | 'secrets'>[]): void {
    this.set(`draft:${this.#drafts % DRAFTS}`, forms)
    this.#drafts += 1
  }

  delete(id: string): void {
    for (const secret of this.#of.get(id) ?? []) this.#redactor.remove(secret)
    this.#of.delete(id)
  }
}

function secretsIn({ config, variables, secrets }: Pick<ServerSettings, 'config' | 'variables' | 'secrets'>): string[] {
  return secrets.flatMap(pointer => {
    const value = valueAt({ ...config, variables: { ...variables } }, pointer)
    return typeof value === 'string' ? secretParts(value) : []
  })
}
