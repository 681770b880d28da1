import { passwordProblem } from '../../../auth/passwords.ts'
import type { FieldError } from '../../../contract/errors.ts'
import { checkName, isNameProblem } from '../../../domain/names.ts'

/** All that is wrong with the name and the password of somebody new. */
export function newUserProblems(name: string, password: string, namePointer: string): FieldError[] {
  const checked = checkName('user', name)
  const weak = passwordProblem(password, name)
  return [...(isNameProblem(checked) ? [{ pointer: namePointer, ...checked }] : []), ...(weak ? [weak] : [])]
}
