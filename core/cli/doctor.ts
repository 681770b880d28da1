import { OUTPUT, readArguments } from './arguments.ts'
import { CHECKS, type Finding } from './doctor-checks.ts'
import type { CommandIo } from './io.ts'
import { plain, printJson } from './output.ts'

/** The text of `patchbay doctor --help`. */
export const help = `patchbay doctor [--json]

Checks this machine for a hub with the present environment: Bun, the variables, the data folder and its lock, the settings
file, the port, the sandbox, and programs that servers are usually started with. Says how to mend what is wrong.
Changes nothing. Exit code 1 when something would keep the hub from working.
`

const MARK = { ok: 'ok   ', warn: 'warn ', wrong: 'wrong' } as const

/** Returns the exit code. */
export async function run(argv: readonly string[], io: CommandIo): Promise<number> {
  const { values } = readArguments(argv, { options: OUTPUT, positionals: [] })
  const findings: Finding[] = []
  for (const check of CHECKS) findings.push(...(await check(io)))
  if (values.json) printJson(io, findings)
  else {
    for (const { state, subject, detail, remedy } of findings) {
      io.stdout(plain(`${MARK[state]}  ${subject}: ${detail}\n${remedy === undefined ? '' : `       → ${remedy}\n`}`))
    }
  }
  return findings.some(finding => finding.state === 'wrong') ? 1 : 0
}
