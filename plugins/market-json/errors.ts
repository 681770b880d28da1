import type { ErrorKind } from 'patchbay/contract'

/** The error code of the source, which a source of the market shows as its last error. */
export const ERRORS = {
  template_integrity: {
    status: 502,
    title: 'The catalogue is not the one that was expected',
    remedy: 'Check the SHA-256 in the plugin’s configuration against the file that its address gives.',
  },
} as const satisfies Record<string, ErrorKind>

/** Chinese for its title and its remedy. */
export const words: Readonly<Record<string, string>> = {
  [ERRORS.template_integrity.title]: '目录内容与预期的校验值不符',
  [ERRORS.template_integrity.remedy]: '请核对插件配置中的 SHA-256 与该地址的文件。',
}
