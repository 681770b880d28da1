import { extname } from 'node:path'
import type { ConfigSyntax } from './config-syntax.ts'
import { JSON_CONFIG } from './json-config.ts'
import { TOML_CONFIG } from './toml-config.ts'
import { YAML_CONFIG } from './yaml-config.ts'

/** The syntax of a client's file by its format: `json`, `toml` or `yaml`. */
export function syntaxOf(format: string): ConfigSyntax {
  if (format === 'toml') return TOML_CONFIG
  return format === 'yaml' ? YAML_CONFIG : JSON_CONFIG
}

/** The syntax of a file by its name, and by its first character where the name does not tell. */
export function syntaxOfFile(file: string, text: string): ConfigSyntax {
  const end = extname(file).toLowerCase()
  if (end === '.toml') return TOML_CONFIG
  if (end === '.yaml' || end === '.yml') return /^\s*\{/.test(text) ? JSON_CONFIG : YAML_CONFIG
  return JSON_CONFIG
}
