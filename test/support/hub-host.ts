/**
 * Runs one hub after the other in this process, each by the command `serve`, as `core/main.ts` does: modules are loaded and compiled
 * once. Each line of standard input is the environment of the next hub, as JSON; the process ends with that input. The line
 * of `endOfRun` follows all that a hub has written, on both streams.
 *
 *   bun test/support/hub-host.ts <path of the built core/cli/run.js> <file for its seconds of processors>
 */
import { appendFileSync, readFileSync } from 'node:fs'
import type { runCommand as RunCommand } from '../../core/cli/run.ts'
import type { AroundProbe } from '../../core/connections/sandbox/probe.ts'
import { writeNow } from '../../core/hub/write-now.ts'
import { Redactor } from '../../core/secrets/redact.ts'
import { ServerRedactors } from '../../core/secrets/server-redactors.ts'
import { makePasswordsQuick } from './quick-passwords.ts'
import { endOfRun } from './recycled.ts'

const [, , command = '', times = ''] = process.argv
const { runCommand }: { readonly runCommand: typeof RunCommand } = await import(command)
/** The command adds listeners, which end with the process elsewhere. */
const LISTENED = ['unhandledRejection', 'SIGHUP', 'SIGTERM', 'SIGINT']

/** The first result with the complete sandbox, which serves the later hubs: a quarter of what their starts would cost. */
let probed: Awaited<ReturnType<AroundProbe>> | undefined
const aroundProbe: AroundProbe = async probe => {
  const result = probed ?? (await probe())
  if (result.level === 'full') probed = result
  return result
}

let redactor = new Redactor()
let servers = new ServerRedactors()
let serving = false

process.on('exit', () => appendFileSync(times, `${processorSeconds()}\n`))
process.on('uncaughtException', error => {
  writeNow(2, `error: internal: ${servers.redactAll(redactor.text(error.stack ?? String(error)))}\n`)
  process.exit(1)
})

/** Seconds of processors used by this process and the ended ones that it waited for. */
function processorSeconds(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) / 100, 0)
}

async function serve(env: Readonly<Record<string, string>>): Promise<void> {
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  redactor = new Redactor()
  servers = new ServerRedactors()
  serving = true
  const code = await runCommand([], {
    stdin: async () => '',
    stdout: text => void process.stdout.write(text),
    stderr: text => void process.stderr.write(text),
    ...{ env, redactor, servers, cwd: process.cwd(), aroundProbe },
  })
  serving = false
  for (const event of LISTENED) process.removeAllListeners(event)
  process.stdout.write(endOfRun(code))
  process.stderr.write(endOfRun(code))
}

makePasswordsQuick()
let text = ''
process.stdin.setEncoding('utf8')
process.stdin.on('data', (chunk: string) => {
  const lines = `${text}${chunk}`.split('\n')
  text = lines.pop() ?? ''
  for (const line of lines) void serve(JSON.parse(line))
})
// The tests have ended. A hub that still runs ends as by a signal, and is not waited for.
process.stdin.on('end', () => {
  if (serving) process.kill(process.pid, 'SIGTERM')
  setTimeout(() => process.exit(0), serving ? 5_000 : 0)
})
