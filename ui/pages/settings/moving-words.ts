import { hubWords } from '../../components/hub-words.ts'
import { t } from '../../text/t.ts'

/** Warnings of the plan of an import about teams, shares, quotas and rules; the parts in them are names. */
const FORMS: readonly (readonly [RegExp, (parts: readonly string[]) => string])[] = [
  [
    /^There is no "((?:user|team):.*)" here \(there is "(.*)", which is written otherwise\): /s,
    ([name = '', other = '']) =>
      t('{name} is not here; {other} is written otherwise. Have it made, or enter the name of this hub below.', {
        name,
        other,
      }),
  ],
  [
    /^There is no "((?:user|team):.*)" here: /s,
    ([name = '']) => t('{name} is not here. Have it made, or enter the name of this hub below.', { name }),
  ],
  [
    /^"(.*)" has the role "(.*)" here, and keeps it$/s,
    ([name = '', role = '']) => t('{name} has the role {role} here and keeps it.', { name, role }),
  ],
  [
    /^It comes from "(.*)": read it/s,
    ([name = '']) => t('It comes from {name}. Read it, and choose Accept to take it.', { name }),
  ],
  [/^It is taken when you answer/s, () => t('It is taken when you enter what it asks for.')],
  [
    /^The plugin "(.*)" does not run$/s,
    ([name = '']) => t('The plugin {name} does not run: switch it on, and show the plan again.', { name }),
  ],
  [
    /^The document has no \w+ "(.*)" that was taken over$/s,
    ([name = '']) => t('{name} of the file is not taken over, so nothing is set beside it.', { name }),
  ],
  [/^"(.*)" owns it, and needs no share$/s, ([name = '']) => t('{name} owns it and needs no share.', { name })],
  [/^The file was changed since it was exported$/, () => t('The file was changed since it was exported.')],
  [/^A team of this name is here/s, () => t('A team of this name is here. Its members stay as they are.')],
  [/^Only administrators import it/s, () => t('Only administrators import it, with a sign-in.')],
  [/^It is not changed: the settings file states it$/s, () => t('The settings file states it, so it is not changed.')],
]

/** A warning in the page's language; an unknown one stays as the hub wrote it. */
export function importWarning(warning: string): string {
  for (const [form, text] of FORMS) {
    const found = form.exec(warning)
    if (found) return text(found.slice(1))
  }
  return hubWords(warning)
}
