import { cp, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeTemp, removeTemp } from '../temp.ts'

const ROOT = join(import.meta.dir, '../../..')

/** A folder outside of the repository in which a person writes plugins, with the exported types and without the sources. */
export interface Author extends AsyncDisposable {
  readonly folder: string
  /** Writes a plugin, for its owner alone; returns its path. */
  write(file: string, source: string): Promise<string>
  /** Output of the repository's tsc for all files in the folder; empty if there are no errors. */
  typeCheck(): Promise<string>
}

/** Makes the folder, with a tsconfig of its own; the types are written as `bun run contract:types` does. */
export async function startAuthor(): Promise<Author> {
  const folder = await makeTemp('author')
  const hub = join(folder, 'node_modules/patchbay')
  await mkdir(hub, { recursive: true })
  await cp(join(ROOT, 'package.json'), join(hub, 'package.json'))
  await run(['-p', join(ROOT, 'tsconfig.types.json'), '--outDir', join(hub, 'dist/types')])
  // The hub's package brings others: the types of tables are kysely's, those of pages Lit's, and most schemas are zod's.
  for (const scope of ['@awesome.me', '@lit-labs']) await mkdir(join(folder, 'node_modules', scope))
  for (const name of ['@awesome.me/webawesome', 'kysely', 'lit', '@lit-labs/signals', 'zod'])
    await symlink(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name), 'dir')
  const compilerOptions = {
    ...{ target: 'ESNext', module: 'nodenext', lib: ['ESNext', 'DOM', 'DOM.Iterable'], types: [] },
    ...{ strict: true, exactOptionalPropertyTypes: true, noEmit: true, allowImportingTsExtensions: true },
    ...{ allowJs: true, checkJs: true },
  }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['.'] }))
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  return {
    folder,
    async write(file, source) {
      await writeFile(join(folder, file), source, { mode: 0o600 })
      return join(folder, file)
    },
    typeCheck: () => run(['-p', folder]),
    [Symbol.asyncDispose]: () => removeTemp(folder),
  }
}

async function run(args: readonly string[]): Promise<string> {
  const tsc = Bun.spawn([process.execPath, join(ROOT, 'node_modules/typescript/bin/tsc'), ...args], {
    cwd: ROOT,
    stdout: 'pipe',
    stderr: 'pipe',
  })
  return (await new Response(tsc.stdout).text()) + (await new Response(tsc.stderr).text())
}
