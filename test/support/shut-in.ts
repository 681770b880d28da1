import { join } from 'node:path'

/** The body of a server that runs the fixture `shut-in` whole from its arguments. */
export async function shutIn(name: string, more: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
  // Encoded, since a server's arguments may hold variables.
  const encoded = Buffer.from(await bundle('bun', 'esm')).toString('base64')
  const args = ['-e', `await import('data:text/javascript;base64,${encoded}')`]
  return { name, command: 'bun', args, ...more }
}

/** The same fixture as a package's program that Node runs. */
export async function shutInProgram(): Promise<string> {
  return `#!/usr/bin/env node\n${await bundle('node', 'cjs')}`
}

async function bundle(target: 'bun' | 'node', format: 'esm' | 'cjs'): Promise<string> {
  const entry = join(import.meta.dir, 'mcp-servers/shut-in.ts')
  const built = await Bun.build({ entrypoints: [entry], target, format, minify: true })
  const [program] = built.outputs
  if (!program) throw new Error('The fixture was not built')
  return program.text()
}
