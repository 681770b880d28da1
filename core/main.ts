#!/usr/bin/env bun
import { runCommand } from './cli/run.ts'
import { writeNow } from './hub/write-now.ts'
import { Redactor } from './secrets/redact.ts'
import { ServerRedactors } from './secrets/server-redactors.ts'

const redactor = new Redactor()
const servers = new ServerRedactors()

/**
 * The process entry: passes argv to a command and exits with its code. Nothing is awaited at top level, since an
 * uncaught exception would then leave Bun in an endless loop instead of exiting (seen with Bun 1.4.5).
 */
function fatal(error: unknown): never {
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error)
  writeNow(2, `error: internal: ${servers.redactAll(redactor.text(what))}\n`)
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
  // Ends both streams first, since an exit discards text that a slow pipe has not accepted yet.
  code => process.stderr.end(() => process.stdout.end(() => process.exit(code))),
  fatal,
)
