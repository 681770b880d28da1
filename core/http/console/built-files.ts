import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { acceptsGzip } from '../compress.ts'

/** Manifest of a build of the console; paths are relative to its folder. */
export interface ConsoleManifest {
  readonly theme: string
  readonly entry: string
  /** The module `patchbay/console`. */
  readonly module: string
  readonly preload: readonly string[]
  readonly style: string
  readonly sprite: string
  readonly icon: string
  /** Patterns of the pages' paths, such as `/servers/:ref`. */
  readonly pages: readonly string[]
}

/** The names of these files hold a digest of their content, so that a browser may keep them. */
const FOR_EVER = 'public, max-age=31536000, immutable'
const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

interface Variants {
  readonly plain: Uint8Array<ArrayBuffer>
  readonly br: Uint8Array<ArrayBuffer> | undefined
  readonly gzip: Uint8Array<ArrayBuffer> | undefined
}

/** The files of one build. They are read once and kept, about 1 MB; other names are not found. */
export class BuiltFiles {
  readonly manifest: ConsoleManifest
  readonly #folder: string
  readonly #names: ReadonlySet<string>
  readonly #read = new Map<string, Promise<Variants>>()

  constructor(manifest: ConsoleManifest, folder: string, names: readonly string[]) {
    this.manifest = manifest
    this.#folder = folder
    this.#names = new Set(names)
  }

  /** Returns a file by its name, such as `main-1a2b3c4d.js`, compressed as the client accepts it; undefined if there is none. */
  async answer(name: string, request: Request): Promise<Response | undefined> {
    const type = TYPES[name.slice(name.lastIndexOf('.') + 1)]
    if (type === undefined || !this.#names.has(name)) return undefined
    const reading = this.#read.get(name) ?? this.#variants(name)
    this.#read.set(name, reading)
    const { plain, br, gzip } = await reading
    const accepted = request.headers.get('accept-encoding')
    const coding = br && acceptsBrotli(accepted) ? 'br' : gzip && acceptsGzip(accepted) ? 'gzip' : undefined
    const body = (coding === 'br' ? br : coding === 'gzip' ? gzip : undefined) ?? plain
    const headers: Record<string, string> = {
      'content-type': type,
      'content-length': String(body.byteLength),
      'cache-control': FOR_EVER,
      vary: 'Accept-Encoding',
    }
    if (coding !== undefined) headers['content-encoding'] = coding
    return new Response(request.method === 'HEAD' ? null : body, { headers })
  }

  async #variants(name: string): Promise<Variants> {
    const read = async (ending: string): Promise<Uint8Array<ArrayBuffer> | undefined> =>
      this.#names.has(`${name}${ending}`) ? readFile(join(this.#folder, 'assets', `${name}${ending}`)) : undefined
    const [plain, br, gzip] = await Promise.all([
      readFile(join(this.#folder, 'assets', name)),
      read('.br'),
      read('.gz'),
    ])
    return { plain, br, gzip }
  }
}

/** The build in a folder; undefined if there is none. */
export async function readBuild(folder: string): Promise<BuiltFiles | undefined> {
  try {
    const manifest = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as ConsoleManifest
    return new BuiltFiles(manifest, folder, await readdir(join(folder, 'assets')))
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ENOENT') return undefined
    throw error
  }
}

function acceptsBrotli(header: string | null): boolean {
  return /(?:^|,)\s*br\s*(?:;\s*q=(?!0(?:\.0*)?\s*(?:,|$))[\d.]+\s*)?(?:,|$)/i.test(header ?? '')
}
