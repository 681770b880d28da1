import { keptMemory } from './recycled.ts'
import { until } from './wait.ts'

/** A helper program of the tests that prints `listening on URL`. */
export interface Program {
  readonly url: string
  readonly pid: number
  log(): string
  stop(): Promise<void>
}

export interface ProgramOptions {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** A module that is loaded before the script. */
  readonly preload?: string
  /** Pattern of the address in the log. */
  readonly address?: RegExp
  /** For programs that end with their stdin. */
  readonly keepStdin?: boolean
}

/** Starts a script with this Bun and waits for its address. The caller stops it. */
export async function startProgram(script: string, options: ProgramOptions = {}): Promise<Program> {
  const { args = [], preload, address = /listening on (http:\/\/[^\s"]+)/ } = options
  const log = { text: '' }
  const loads = preload === undefined ? [] : ['--preload', preload]
  const child = Bun.spawn([process.execPath, ...loads, script, ...args], {
    stdin: options.keepStdin ? 'pipe' : 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    env: { PATH: process.env.PATH ?? '', ...keptMemory, ...options.env },
  })
  const gather = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    const decoder = new TextDecoder()
    for await (const chunk of stream) log.text += decoder.decode(chunk, { stream: true })
  }
  const reading = [gather(child.stdout), gather(child.stderr)]
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL')
    await child.exited
    await Promise.all(reading)
  }
  try {
    const url = await until(
      () => {
        if (child.exitCode !== null) return 'ended'
        return address.exec(log.text)?.[1]
      },
      { timeoutMs: 60_000, intervalMs: 10, what: `the address of ${script}` },
    )
    if (url === 'ended') throw new Error(`${script} ended before it listened:\n${log.text}`)
    return { url, pid: child.pid, log: () => log.text, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
