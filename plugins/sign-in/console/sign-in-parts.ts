/** The functions that the sign-in page uses: `SignInParts` of the console. */
export { askPasskey, hasPasskeys } from './ask-passkey.ts'
export { codeForm } from './second-step.ts'
export { begin, canBegin, waysIn } from './ways.ts'
