// SPDX-License-Identifier: Apache-2.0
// strftime in the C locale, with glibc's flags "-", "_", "0", "^".
#include <array>

#include "src/text/jinja/globals.hpp"

namespace hz::text::jinja {

namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {"January", "February", "March",     "April",   "May",      "June",
                                                      "July",    "August",   "September", "October", "November", "December"};

bool leap(int year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

// Days since 1970-01-01 in the Gregorian calendar.
std::int64_t days_from_civil(int year, int month, int day) {
  const std::int64_t y = year - (month <= 2 ? 1 : 0);
  const std::int64_t era = (y >= 0 ? y : y - 399) / 400;
  const std::int64_t of_era = y - era * 400;
  const std::int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

class Formatter {
 public:
  explicit Formatter(const std::tm& t) : t_(t), year_(t.tm_year + 1900) {
    const std::int64_t days = days_from_civil(year_, t.tm_mon + 1, t.tm_mday);
    weekday_ = static_cast<int>(((days + 4) % 7 + 7) % 7);
    yearday_ = static_cast<int>(days - days_from_civil(year_, 1, 1));
    seconds_ = days * 86400 + t.tm_hour * 3600 + t.tm_min * 60 + t.tm_sec;
  }

  void format(std::string_view f) {
    for (std::size_t i = 0; i < f.size(); ++i) {
      if (f[i] != '%' || i + 1 >= f.size()) {
        out_.push_back(f[i]);
        continue;
      }
      char flag = 0;
      while (i + 2 < f.size() && (f[i + 1] == '-' || f[i + 1] == '_' || f[i + 1] == '0' || f[i + 1] == '^')) flag = f[++i];
      directive(f[++i], flag);
    }
  }
  std::string take() { return std::move(out_); }

 private:
  void number(std::int64_t v, int width, char flag, char fill = '0') {
    if (flag == '_') fill = ' ';
    if (flag == '0') fill = '0';
    std::string digits = std::to_string(v);
    if (flag != '-') {
      while (static_cast<int>(digits.size()) < width) digits.insert(0, 1, fill);
    }
    out_ += digits;
  }
  void word(std::string_view text, char flag) {
    for (const char c : text) out_.push_back(flag == '^' && c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c);
  }

  // ISO 8601 week and its year.
  std::pair<int, int> iso_week() const {
    const int monday = (weekday_ + 6) % 7;
    int week = (yearday_ - monday + 10) / 7;
    if (week < 1) return {year_ - 1, weeks_in(year_ - 1)};
    if (week > weeks_in(year_)) return {year_ + 1, 1};
    return {year_, week};
  }
  static int weeks_in(int year) {
    const auto dec31 = ((days_from_civil(year, 12, 31) + 4) % 7 + 7) % 7;
    return dec31 == 4 || (dec31 == 5 && leap(year)) ? 53 : 52;
  }

  void directive(char c, char flag) {
    const int hour12 = t_.tm_hour % 12 == 0 ? 12 : t_.tm_hour % 12;
    const auto day = static_cast<std::size_t>(weekday_);
    const auto month = static_cast<std::size_t>(t_.tm_mon);
    switch (c) {
      case 'a': return word(kDays[day].substr(0, 3), flag);
      case 'A': return word(kDays[day], flag);
      case 'b':
      case 'h': return word(kMonths[month].substr(0, 3), flag);
      case 'B': return word(kMonths[month], flag);
      case 'C': return number(year_ / 100, 2, flag);
      case 'd': return number(t_.tm_mday, 2, flag);
      case 'e': return number(t_.tm_mday, 2, flag, ' ');
      case 'f': return number(0, 6, flag);
      case 'g': return number(iso_week().first % 100, 2, flag);
      case 'G': return number(iso_week().first, 4, flag);
      case 'H': return number(t_.tm_hour, 2, flag);
      case 'I': return number(hour12, 2, flag);
      case 'j': return number(yearday_ + 1, 3, flag);
      case 'k': return number(t_.tm_hour, 2, flag, ' ');
      case 'l': return number(hour12, 2, flag, ' ');
      case 'm': return number(t_.tm_mon + 1, 2, flag);
      case 'M': return number(t_.tm_min, 2, flag);
      case 'n': return out_.push_back('\n');
      case 'p': return word(t_.tm_hour < 12 ? "AM" : "PM", flag);
      case 'P': return word(t_.tm_hour < 12 ? "am" : "pm", flag);
      case 's': return number(seconds_, 1, flag);
      case 'S': return number(t_.tm_sec, 2, flag);
      case 't': return out_.push_back('\t');
      case 'u': return number(weekday_ == 0 ? 7 : weekday_, 1, flag);
      case 'U': return number((yearday_ + 7 - weekday_) / 7, 2, flag);
      case 'V': return number(iso_week().second, 2, flag);
      case 'w': return number(weekday_, 1, flag);
      case 'W': return number((yearday_ + 7 - (weekday_ + 6) % 7) / 7, 2, flag);
      case 'y': return number(year_ % 100, 2, flag);
      case 'Y': return number(year_, 1, flag);
      case 'c': return format("%a %b %e %H:%M:%S %Y");
      case 'D':
      case 'x': return format("%m/%d/%y");
      case 'F': return format("%Y-%m-%d");
      case 'r': return format("%I:%M:%S %p");
      case 'R': return format("%H:%M");
      case 'T':
      case 'X': return format("%H:%M:%S");
      case 'z':
      case 'Z': return;  // local time without a zone
      case '%': return out_.push_back('%');
      default: throw Fault{std::string("strftime_now: unknown directive '%") + c + "'"};
    }
  }

  const std::tm& t_;
  int year_, weekday_ = 0, yearday_ = 0;
  std::int64_t seconds_ = 0;
  std::string out_;
};

}  // namespace

std::string format_time(const std::tm& when, std::string_view format) {
  if (when.tm_mon < 0 || when.tm_mon > 11 || when.tm_mday < 1 || when.tm_mday > 31) throw Fault{"strftime_now: the date is not valid"};
  Formatter f(when);
  f.format(format);
  return f.take();
}

}  // namespace hz::text::jinja
