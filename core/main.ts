#!/usr/bin/env bun
import { runCommand } from './cli/run.ts'
import { Redactor } from './secrets/redact.ts'
import { ServerRedactors } from './secrets/server-redactors.ts'

const redactor = new Redactor()
const servers = new ServerRedactors()

/**
 * The process entry: hands argv to a command and ends with its exit code. Nothing is awaited at top level, since an
 * exception that nobody catches would then leave Bun spinning instead of ending (seen with Bun 1.4.5).
 */
function fatal(error: unknown): never {
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error)
  process.stderr.write(`error: internal: ${servers.redactAll(redactor.text(what))}\n`)
  process.exit(1)
}

process.on('uncaughtException', fatal)
void runCommand(process.argv.slice(2), {
  stdin: () => Bun.stdin.text(),
  stdout: text => void process.stdout.write(text),
  stderr: text => void process.stderr.write(text),
  env: process.env,
  redactor,
  servers,
  cwd: process.cwd(),
}).then(
  // Ending the stream first: an exit throws away what a slow pipe has not taken yet.
  code => process.stdout.end(() => process.exit(code)),
  fatal,
)
