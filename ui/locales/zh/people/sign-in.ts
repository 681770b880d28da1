/** Chinese texts of the gate, by their English. */
export const signIn: Readonly<Record<string, string>> = {
  'Sign in': '登录',
  'Afterwards you come back to {page}.': '登录后返回“{page}”。',
  'Sign in to {host}': '登录 {host}',
  'Your sign-in has ended. Sign in again to go on.': '登录已失效，请重新登录。',
  Password: '密码',
  'Signing in': '正在登录',
  'Wait {n} s': '请等待 {n} 秒',
  'Show password': '显示密码',
  'User and password do not match. Try again, or ask an administrator for a new password.':
    '用户名与密码不匹配。请重试，或向管理员申请新密码。',
  'Choose a new password': '设置新密码',
  'Somebody else has set the present one. Only you should know the next.': '当前密码由他人设置，新密码应只有您知道。',
  'Present password': '当前密码',
  'New password': '新密码',
  'Change password': '修改密码',
  'This link was used or has ended. Ask an administrator for a new one.':
    '此链接已被使用或已失效，请向管理员索取新链接。',
  'This link works once. All your other sign-ins end; access keys go on.':
    '此链接只能使用一次。您的其他登录都会失效，访问密钥不受影响。',
  'At least 12 characters; a sentence is easy to keep in mind.': '至少 12 个字符，用一句话便于记忆。',
  'Set password and sign in': '设置密码并登录',
  'Begin again': '重新开始',
  'Take away second factors': '移除第二验证方式',
  'Take away second factors?': '移除第二验证方式？',
  'Take away': '移除',
  'The password of {name} is enough afterwards, and all sign-ins of {name} end.':
    '之后 {name} 只需密码即可登录，其所有登录都会失效。',
  '{name} has no second factor now': '{name} 现在没有第二验证方式',
  or: '或',
  'Sign in with {provider}': '使用 {provider} 登录',
  'Sign in with a passkey': '使用通行密钥登录',
  'Continue as {user}': '以 {user} 的身份继续',
  'Sign in as an administrator': '以管理员身份登录',
  'Administrators alone sign in with a password here.': '此处仅管理员使用密码登录。',
  'Users of this hub sign in with a passkey or an account, at the address of the hub with https.':
    '此 Hub 的用户通过 https 地址使用通行密钥或账号登录。',
}
