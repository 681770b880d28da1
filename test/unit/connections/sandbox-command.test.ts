import { expect, test } from 'bun:test'
import { stageFailure } from '../../../core/connections/sandbox/command.ts'

const WORDS: readonly (readonly [number, string, string | undefined])[] = [
  [127, 'bwrap: 1: exec: /usr/bin/x: not found', 'command_not_found'],
  [127, 'bwrap: line 1: /usr/bin/x: No such file or directory', 'command_not_found'],
  [1, 'bwrap: execvp /usr/bin/x: No such file or directory', 'command_not_found'],
  [126, 'bwrap: 1: exec: ./x: Permission denied', 'command_not_executable'],
  [126, 'bwrap: 1: exec: ./x: Exec format error', 'command_not_executable'],
  [126, 'bwrap: line 1: exec: ./x: cannot execute: Is a directory', 'command_not_executable'],
  [127, 'bwrap: line 1: ./x: cannot execute: required file not found', 'command_not_executable'],
  [127, 'bwrap: 1: exec: ./x: required file not found', 'command_not_executable'],
  [1, 'bwrap: execvp ./x: Permission denied', 'command_not_executable'],
  [1, 'bwrap: Creating new namespace failed: Resource temporarily unavailable', 'spawn_failed'],
  [1, "bwrap: Can't chdir to /home/server/x: No such file or directory", 'spawn_failed'],
  [1, 'bwrap: Creating new namespace failed: Operation not permitted', 'sandbox_lost'],
  [1, 'bwrap: No permissions to create new namespace, likely because the kernel does not allow it', 'sandbox_lost'],
  [127, 'prlimit: failed to execute /usr/bin/bwrap: No such file or directory', 'sandbox_lost'],
  [3, 'bwrap: Creating new namespace failed: Operation not permitted', undefined],
  [1, 'Error: bwrap: no', undefined],
]

test.each(WORDS)('stageFailure() of exit code %d and %j is %p', (exitCode, words, code) => {
  expect(stageFailure('x', exitCode, words)?.code as string | undefined).toBe(code)
})
