/** Chinese for the texts of the plugin's errors. */
export const words: Readonly<Record<string, string>> = {
  'The code is not right': '验证码不正确',
  'Enter the code that the app shows now, once, or a recovery code that was not used.':
    '请输入应用当前显示的验证码（每个只能用一次），或未使用过的恢复码。',
  'The sign-in has to begin again': '需要重新登录',
  'Enter user name and password again: a sign-in waits five minutes for its code, and takes five.':
    '请重新输入用户名和密码：每次登录等待验证码五分钟，最多可试五次。',
  'No such second factor': '没有这个第二验证方式',
  'GET /api/auth/factors lists yours.': 'GET /api/auth/factors 列出您的验证方式。',
  'Too many second factors': '第二验证方式过多',
  'Remove one that you do not use any more.': '请移除不再使用的一个。',
}
