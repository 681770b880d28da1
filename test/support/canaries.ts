import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Secrets that a test gives to a hub, and the search for them in its output. */
export class Canaries {
  readonly #all = new Map<string, string>()

  /** A new one. `tail` is appended: characters that encoders treat each in their own way. */
  make(what: string, tail = ''): string {
    const secret = `canary-${crypto.randomUUID()}${tail}`
    this.#all.set(what, secret)
    return secret
  }

  get(what: string): string {
    const secret = this.#all.get(what)
    if (secret === undefined) throw new Error(`There is no canary "${what}"`)
    return secret
  }

  /** `what in where` for each canary that a text holds in some form. */
  in(texts: readonly Said[], except: readonly string[] = []): string[] {
    const wanted = [...this.#all]
      .filter(([what]) => !except.includes(what))
      .map(([what, secret]) => [what, forms(secret)] as const)
    return texts.flatMap(({ where, text }) =>
      wanted.filter(([, shapes]) => shapes.some(form => text.includes(form))).map(([what]) => `${what} in ${where}`),
    )
  }
}

/** A text that the hub has output. */
export interface Said {
  readonly where: string
  readonly text: string
}

/**
 * The forms in which a secret could be output, without the parts that depend on the surrounding text, or on the shown last four
 * characters.
 */
export function forms(secret: string): string[] {
  const core = secret.slice('canary-'.length, -4)
  const base64 = [0, 1, 2].map(offset => {
    const text = Buffer.concat([Buffer.alloc(offset), Buffer.from(core)]).toString('base64')
    return text.slice(offset === 0 ? 0 : offset + 1, -4)
  })
  return [
    core,
    ...base64,
    ...base64.map(text => text.replaceAll('+', '-').replaceAll('/', '_')),
    encodeURIComponent(core),
    encodeURIComponent(core).toLowerCase(),
    JSON.stringify(core).slice(1, -1),
    Buffer.from(core).toString('hex'),
  ]
}

/** Every file that a hub wrote below a folder, except its copies of Bun and Bun's cache of sources. */
export async function filesBelow(folder: string): Promise<Said[]> {
  const files: Said[] = []
  for (const name of await readdir(folder, { recursive: true })) {
    if (/(?:^|\/)(?:\.bun|runtime)\//.test(name)) continue
    const where = join(folder, name)
    if ((await stat(where)).isFile()) files.push({ where, text: await readFile(where, 'latin1') })
  }
  return files
}
